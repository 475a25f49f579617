"""Which words of captions become tags, measured on captions with the words that a person would choose."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from visterm.language import CaptionTokenizer

# Each caption with the words that a person would choose as tags, separated by commas.
CHOSEN = """
A man wearing a white shirt rides a brown horse along the beach. | man, shirt, horse, beach
Two young women are sitting on a wooden bench in the park. | woman, bench, park
A black dog jumps over a fallen log in the forest. | dog, log, forest
The old lighthouse stands on a rocky cliff above the sea. | lighthouse, cliff, sea
Children playing soccer on a muddy field while parents watch. | child, soccer, field, parent
A red double decker bus stops at a traffic light in London. | decker, bus, traffic light, london
A close up of a colorful butterfly resting on a purple flower. | butterfly, flower
Several sailboats are anchored in a small harbour at sunset. | sailboat, harbour, sunset
A cat is sleeping peacefully on a striped couch next to a lamp. | cat, couch, lamp
An elderly couple walking their dog down a snowy street. | dog, street
A surfer carrying a yellow surfboard runs towards the waves. | surfer, surfboard, wave
A group of people standing around a kitchen island drinking wine. | person, kitchen, island, wine
A tennis player swings her tennis racket at the ball. | tennis, player, tennis racket, ball
A boy in a blue helmet is skateboarding down a concrete ramp. | boy, helmet, skateboarding, ramp
Snow covered mountains reflected in a calm lake. | snow, mountain, lake
A woman holding an umbrella crosses the busy street in the rain. | woman, umbrella, street, rain
The bride and groom cut their wedding cake. | bride, groom, wedding, cake
A brightly painted fishing boat pulled up on the sand. | fishing, boat, sand
A herd of elephants drinking from a muddy river. | elephant, river
A bicycle is leaning against a brick wall beside a blue door. | bicycle, brick, wall, door
Skiers riding a chair lift up a steep slope. | skier, chair, lift, slope
A little girl blows out the candles on her birthday cake. | girl, candle, birthday, cake
A plate of pasta with tomatoes, basil and grated cheese. | plate, pasta, tomato, basil, cheese
An airplane flies low over the runway of a small airport. | airplane, runway, airport
A man climbs a vertical rock face using a red rope. | man, rock, rope
Three sheep grazing on a green hill near an ancient stone church. | sheep, hill, stone, church
A traffic light hangs above an empty intersection at night. | traffic light, intersection, night
A woman with curly hair is playing the violin on a stage. | woman, hair, violin, stage
A yellow taxi driving past tall buildings in a crowded city. | taxi, building, city
The kitchen has white cabinets, a silver refrigerator and a gas stove. | kitchen, cabinet, refrigerator, gas, stove
A bear catches a salmon in the rapids of a river. | bear, salmon, rapid, river
A baseball player slides into home plate while the umpire watches. | baseball, player, home, plate, umpire
Two kids are building a sandcastle with plastic buckets. | kid, sandcastle, bucket
A vase of fresh tulips stands on a table covered with a white cloth. | vase, tulip, table, cloth
A firefighter is climbing a ladder next to a burning house. | firefighter, climbing, ladder, house
People dancing at a concert under bright stage lights. | person, dancing, concert, stage, light
A steam train crosses a stone bridge over a deep valley. | steam, train, stone, bridge, valley
A young man throws a frisbee to his friend in a grassy field. | man, frisbee, friend, field
The skyline of the city glows behind a wide bridge at dusk. | skyline, city, bridge, dusk
A street musician plays the accordion outside a cafe. | street, musician, accordion, cafe
A hiker wearing a heavy backpack looks out over the canyon. | hiker, backpack, canyon
A girl kicks a soccer ball toward the goal. | girl, soccer, ball, goal
A tennis racket and two balls lie on the grass court. | tennis racket, ball, grass, court
A traffic light and a street sign on a snowy corner. | traffic light, street, sign
A monkey hangs from a branch with its long tail. | monkey, branch, tail
Freshly baked bread cooling on a metal rack. | bread, rack
A guitarist is performing on stage with his band. | guitarist, stage, band
A fisherman mends his nets on the dock of the harbour. | fisherman, net, dock, harbour
Several motorcycles parked in front of an old brick building. | motorcycle, brick, building
A tennis coach adjusts the grip of a new tennis racket. | tennis, coach, grip, tennis racket
Hot air balloons floating over a desert at sunrise. | air, balloon, desert, sunrise
A small child feeding ducks at the edge of a pond. | child, duck, pond
The waterfall plunges into a deep green pool surrounded by ferns. | waterfall, pool, fern
A chef slices vegetables quickly with a sharp knife. | chef, vegetable, knife
An owl perched on a fence post looks at the camera. | owl, fence, post, camera
A crowd gathers around a statue in the main square of the town. | crowd, statue, town
A woman is knitting a scarf in an armchair by the fireplace. | woman, knitting, scarf, armchair, fireplace
Cyclists race down a winding road past a vineyard. | cyclist, road, vineyard
A lone tree stands in a field of golden wheat. | tree, field, wheat
Two men in suits shake hands at a conference table. | man, suit, hand, conference, table
"""
# Captions that nobody looked at while the lists and rules were made.
HELD_OUT = """
A goat chews on a wooden fence beside a rusty tractor. | goat, fence, tractor
Two nurses push an empty wheelchair along the hospital corridor. | nurse, wheelchair, hospital, corridor
The mayor greets a delegation of students on the steps of the museum. | mayor, delegation, student, step, museum
A vendor arranges ripe mangoes in neat rows at the market. | vendor, mango, market
Heavy fog drifts between the pillars of a suspension bridge. | fog, pillar, suspension, bridge
An acrobat balances on a unicycle while juggling burning torches. | acrobat, unicycle, juggling, torch
A weathered shed overgrown with ivy. | shed, ivy
Workers in orange vests repair the railway track after the flood. | worker, vest, railway, track, flood
A potter shapes a clay bowl on a spinning wheel. | potter, clay, bowl, wheel
A kitten stares curiously at its reflection in the mirror. | kitten, reflection, mirror
Passengers wait impatiently on the crowded platform for the delayed train. | passenger, platform, train
A beekeeper carefully lifts a frame from the hive. | beekeeper, frame, hive
Steaming cups of coffee and a half eaten croissant on a newspaper. | cup, coffee, croissant, newspaper
A toddler splashes happily in an inflatable pool. | toddler, pool
The orchestra rehearses in a dimly lit theater. | orchestra, theater
A diver explores a sunken ship covered with coral. | diver, ship, coral
Barefoot monks sweep the courtyard of an ancient temple. | monk, courtyard, temple
A scarecrow guards a pumpkin patch under a cloudy sky. | scarecrow, pumpkin, patch, sky
Graffiti covers the walls of an abandoned factory. | graffiti, wall, factory
A rusty anchor lies among pebbles on the shore. | anchor, pebble, shore
Three penguins waddle across the ice towards the water. | penguin, ice, water
A carpenter measures a plank with a folding ruler. | carpenter, plank, ruler
The cathedral towers over narrow medieval streets. | cathedral, street
A seagull steals fries from a surprised tourist. | seagull, fry, tourist
"""


def chosen(text: str) -> tuple[list[str], list[set[str]]]:
    """The captions, and the wanted words of each."""
    pairs = [line.rsplit("|", 1) for line in text.strip().splitlines()]
    return [caption.strip() for caption, _ in pairs], [
        {word.strip() for word in words.split(",")} for _, words in pairs
    ]


CAPTIONS, WANTED = chosen(CHOSEN)


def quality(tokenizer: CaptionTokenizer, text: str) -> tuple[float, float]:
    """The share of tags that were wanted, and the share of wanted words that became tags."""
    captions, wanted = chosen(text)
    tags = tokenizer.tags(captions)
    right = sum(len(words & set(found)) for words, found in zip(wanted, tags, strict=True))
    return right / sum(map(len, tags)), right / sum(map(len, wanted))


@pytest.mark.parametrize(("text", "at_least"), [(CHOSEN, 0.9), (HELD_OUT, 0.8)])
def test_tags_are_the_words_that_a_person_would_choose(text, at_least):
    precision, recall = quality(CaptionTokenizer(min_count=1), text)
    assert precision > at_least
    assert recall > 0.9
    any_word, _ = quality(CaptionTokenizer(min_count=1, useful_only=False), text)
    assert any_word < 0.65


def test_captions_decide_about_words_in_no_list():
    nouns = ["A glorp on the table.", "Two glorps near a door.", "The red glorp is on the grass.", "glorp, at night"]
    adjectives = ["A snazzle boat at sea.", "The snazzle house is on a hill.", "A snazzle dog.", "two snazzle cats"]
    verbs = ["Men vimble a ball.", "The girls vimble the rope.", "A dog vimbles at night."]
    kept = CaptionTokenizer().read(nouns + adjectives + verbs).kept
    assert kept["glorp"] == 4
    assert not {"snazzle", "vimble", "vimbles"} & set(kept)
    assert "glimp" not in CaptionTokenizer(min_count=1).read(["The mayor glimps a crowd"]).kept


@pytest.mark.parametrize(
    ("word", "useful", "captions"),
    [
        ("walk", True, ["A long walk in the park", "the walk by the sea", "a walk"]),
        ("walk", False, ["They walk home", "a man walks on the beach", "a walk"]),
        ("light", True, ["the lights of a city", "a street with lights"]),
        ("landing", True, ["The landing of a plane", "a landing at night"]),
        ("landing", False, ["A plane is landing on water", "planes landing", "a landing"]),
        ("surfing", True, ["a man is surfing", "two women are surfing"]),
        ("slowly", False, ["slowly", "A slowly moving train"]),
        ("seed", True, ["seeds", "is seed"]),
    ],
)
def test_the_use_of_a_word_decides(word, useful, captions):
    assert (word in CaptionTokenizer(min_count=1).read(captions).kept) == useful


def test_frequent_pairs_are_tags():
    captions = ["A traffic light at night"] * 3 + [
        "two traffic lights",
        "A light in the fog",
        "the light",
        "traffic",
        "a teddy bear",
    ]
    captions += ["teddy bears", "the teddy bear", "white clouds", "a white cloud", "the white cloud"]
    words = CaptionTokenizer(min_count=1).read(captions)
    assert words.kept["traffic light"] == 4
    assert words.tags[0] == ["traffic light", "light", "night"]
    assert words.others["traffic"] == 1  # beside the phrase, it says nothing of its own
    assert words.tags[7] == ["teddy bear"]
    assert "white cloud" not in words.kept
    assert "parent watch" not in CaptionTokenizer().read(["a game while parents watch"] * 4).kept
    assert words.others["white"] == 3
    assert CaptionTokenizer(useful_only=False).read(captions).kept["white"] == 3


def test_a_word_that_is_asked_for_is_a_tag():
    assert CaptionTokenizer(min_count=1, phrases=("wearing",)).tags(["A man wearing a white hat"]) == [
        ["man", "wearing", "hat"]
    ]


def test_other_languages_keep_all_words():
    assert CaptionTokenizer(language="de", min_count=1).tags(["Ein rotes Haus"])[0][-1] == "haus"
    assert len(CaptionTokenizer(language="de", min_count=1).tags(["Ein rotes Haus"])[0]) == 2


def test_eight_thousand_captions_take_little_time():
    captions = [f"{caption} Number {number}." for number in range(134) for caption in CAPTIONS]
    started = time.process_time()
    words = CaptionTokenizer().read(captions)
    assert time.process_time() - started < 4  # about 0.4 s on an idle core
    assert Counter(tag for tags in words.tags for tag in tags) == words.kept
