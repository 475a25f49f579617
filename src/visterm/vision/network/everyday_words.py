"""Everyday words for what pictures show, and which of ImageNet's classes each takes in: *dog* has 118 of them."""

from __future__ import annotations

from functools import lru_cache

#: A word, and the numbers of its classes.
_OF_CLASSES = """
    people: 399 400 411 433 439 445 451 457 459 465 474 501 514 515 560 568 578 601 608 610 614 617 638 639
        652 655 658 667 689 697 735 775 796 808 834 836 837 841 842 869 887 903 906 981-983
    portrait: 457 552 578 793 796 808 836 837 903
    baby: 431 443 516 520 529 680
    child: 431 443 516 520 529 680 843 850 870
    wedding: 578 689 982
    soldier: 413 439 465 652 715
    dog: 151-268
    cat: 281-285
    horse: 339 603
    cow: 345-347 690
    sheep: 348-350
    pig: 341-343
    rabbit: 330-332
    bird: 7-24 80-100 127-146
    chicken: 7 8
    duck: 97 98
    swan: 100
    owl: 24
    eagle: 21 22
    parrot: 87-90
    penguin: 145
    fish: 0-6 389-397
    shark: 2-4
    coral: 107-109 973
    whale: 147 148
    seal: 149 150
    turtle: 33-37
    frog: 30-32
    lizard: 38-48
    crocodile: 49 50
    snake: 52-68
    spider: 72-77 815
    insect: 300-320
    butterfly: 321-326
    bee: 309
    crab: 118-121 125
    shell: 112 117
    snail: 113
    elephant: 101 385 386
    lion: 291
    tiger: 292
    leopard: 288-290
    bear: 294-297
    polar bear: 296
    panda: 387 388
    wolf: 269-271
    fox: 277-280
    deer: 351-353
    antelope: 351-353
    zebra: 340
    camel: 354 355
    monkey: 365-382
    kangaroo: 104
    squirrel: 335 336
    mouse: 333 338
    hippopotamus: 344
    animal: 101-106 269-299 330-388
    beach: 977 978
    coast: 972 976-978
    sea: 976-978
    lighthouse: 437
    cliff: 972
    lake: 975
    river: 718
    boat: 449 472 484 554 576 625 693 780 814 871 914
    sailboat: 484 780 871 914
    harbour: 449 460 536 718
    ship: 403 510 628 694 724 913
    mountain: 970 979 980
    valley: 979
    snow: 450 537 795 802 803
    ice: 974
    field: 595 730 856 958
    farm: 425 595 690 730 856 866
    garden: 580 706 716 738
    flower: 984-986
    mushroom: 947 991-997
    street: 468 475 704 829 919 920
    road: 919
    traffic: 468 656 705 734 779 874 919 920
    market: 415 509 582 860
    shop: 415 424 454 467 509 582 788 860 865
    building: 442 483 497 538 663 668 698 743 832 858 873 884
    tower: 442 900
    house: 425 660 706 853 858
    castle: 483
    palace: 698
    church: 406 442 497 538 663
    temple: 832
    mosque: 668
    ruins: 500 649 873
    statue: 682 708 863
    bridge: 821 839 888
    wall: 825
    window: 789 904 905
    door: 799
    stairs: 421
    fountain: 562
    room: 453 495 532 548 564 598 762 831 846
    kitchen: 521 534 651 760 827 859 896
    bedroom: 520 564 750
    bathroom: 434 435 794 861 896
    library: 453 454 624
    office: 508 527 553 664 782
    restaurant: 762
    car: 407 436 468 511 581 609 627 656 661 734 751 817
    racing car: 573 751
    truck: 555 569 675 717 864 867
    bus: 654 779 874
    train: 466 547 565 705 820
    tram: 829
    motorcycle: 665 670
    bicycle: 444 671 870 880
    plane: 404 895 908
    balloon: 405 417
    tank: 408 586 847
    tractor: 595 856 866
    ski: 795
    swimming: 433 639 801 842
    diving: 801 983
    football: 768 805
    American football: 560
    baseball: 429 981
    basketball: 430
    tennis: 752 852
    golf: 574 575
    ice hockey: 746
    gymnastics: 416 602 702
    playground: 476 843
    concert: 402 486 541 546 650 776 819 889
    guitar: 402 546
    piano: 579 881
    stage: 818 819
    dance: 614 689
    food: 923-939 942-945 959-965
    fruit: 948-957
    vegetable: 936-946
    bread: 930-932
    drink: 440 441 572 737 898 907 966-969
    table: 532
    chair: 423 559 765
    clock: 409 530 892
    computer: 508 527 590 620 664 681 782
    book: 454 624 917 921
    mask: 643
    hat: 439 452 515 808
    shoe: 502 514 630 770 774 788
    dress: 578 601 614 689
    jewellery: 679
    toy: 850 865
    flag: 557
    sign: 919
    gun: 413 763 764
    machine: 517 540 634
"""
#: Words that take in no class.
_WITHOUT = """
    man, woman, face, giraffe, rhinoceros, wave, island, rock, waterfall, hill, desert, cave, forest, jungle,
    tree, countryside, leaf, cactus, sky, cloud, sunset, night, moon, fireworks, fire, rain, fog, city,
    highway, skyscraper, helicopter, skateboard, surfing, climbing, painting, pattern, coin
"""


@lru_cache(maxsize=1)
def everyday_words() -> dict[str, tuple[int, ...]]:
    """The words, and the numbers of the classes that each takes in.

    >>> words = everyday_words()
    >>> words["owl"], len(words["dog"]), words["sky"]
    ((24,), 118, ())
    """
    lines = _OF_CLASSES.strip().replace("\n        ", " ").splitlines()
    pairs = [line.strip().split(": ") for line in lines]
    found = {word: tuple(number for part in classes.split() for number in _numbers(part)) for word, classes in pairs}
    return found | {word.strip(): () for word in _WITHOUT.split(",")}


def _numbers(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)
