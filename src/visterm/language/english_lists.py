"""Lists of frequent English words that seldom say what is in a picture, and the forms of verbs."""

from __future__ import annotations

from functools import cache

#: Verbs that captions use. Their forms are not tags, unless the captions use them as nouns.
_VERBS = """
    accompany act add admire adjust aim allow appear approach apply arrange arrive ask assist attach attempt await
    bake balance bathe be bear beat become begin bend bite bloom blow board bounce break bring browse build burn bury
    buy call carry carve catch celebrate change chase check chew clap clean climb close cling collect come compete
    complete concentrate contain continue converse cook cover crawl create cross crouch cry cut dance dangle decorate
    depict dig dine dip direct display dive do drag draw dress drink drive drop dry eat embrace enjoy enter examine
    exit explain explore extend face fall feature feed feel fight fill find finish fix float flip fly focus fold
    follow form frolic gallop gather gaze get give glide glow go grab graze grill grin grind grip grow guard guide
    hang hail have head help herd hike hit hold hop hover hug hunt hurdle include inspect interact jog join juggle
    jump keep kick kiss kneel knit know lay lead lean leap learn leave let lick lie lift light line listen live load
    lock look lose lounge lower make march meet melt mend mix mount mow move nap navigate near observe offer open
    operate overlook paddle paint park pass pat pay pedal peek peel perch perform pet pick place plant play plunge
    point pose pour practice practise prepare present press pretend protest prowl pull push put race raise reach read
    recline relax remain remove repair rest ride rise roast roll run rush sail say search see seem sell serve set
    shake share shine shoot shop shovel show sing sit skate ski sleep slice slide smell smile smoke sniff soar speak
    spin splash spray spread sprint stack stand stare start stay step stick stop stretch stroll strike stroke study
    surf surround suspend swim swing take talk taste teach tell throw tie touch toss tour tow train travel trot try
    turn type use visit wade wait wake walk wander want wash watch wave wear wink wipe work wrap wrestle write yawn
"""
VERBS = frozenset(_VERBS.split())

#: Verbs whose plain form names a thing more often than an act.
_THINGS_TOO = """
    board call clap cook cover cross cut dress drink drop face fall fight fly fold form guard guide hang head herd
    hike hurdle light line lock mount paint park pass pet place plant play point present press race ride roll sail
    search set shop show slide smoke spray stack step stick stroke study surf swing tie tour train turn walk watch
    wave work wrap
"""
THINGS_TOO = frozenset(_THINGS_TOO.split())

#: Past forms that the rules for endings do not give.
_IRREGULAR = {
    "bore": "bear", "beaten": "beat", "became": "become", "began": "begin", "bent": "bend", "bit": "bite",
    "bitten": "bite", "blew": "blow", "blown": "blow", "broke": "break", "broken": "break", "brought": "bring",
    "built": "build", "bought": "buy", "came": "come", "caught": "catch", "cried": "cry", "dug": "dig", "did": "do",
    "done": "do", "drew": "draw", "drawn": "draw", "drank": "drink", "drove": "drive", "driven": "drive", "ate": "eat",
    "eaten": "eat", "fell": "fall", "fallen": "fall", "fed": "feed", "felt": "feel", "fought": "fight",
    "found": "find", "flew": "fly", "flown": "fly", "got": "get", "gave": "give", "given": "give", "went": "go",
    "gone": "go", "grew": "grow", "grown": "grow", "hung": "hang", "held": "hold", "kept": "keep", "knelt": "kneel",
    "knew": "know", "known": "know", "laid": "lay", "led": "lead", "left": "leave", "lay": "lie", "lying": "lie",
    "lit": "light", "lost": "lose", "made": "make", "met": "meet", "paid": "pay", "ran": "run", "rode": "ride",
    "ridden": "ride", "rose": "rise", "said": "say", "saw": "see", "seen": "see", "sold": "sell", "shone": "shine",
    "shot": "shoot", "shown": "show", "sang": "sing", "sat": "sit", "slept": "sleep", "slid": "slide",
    "spoke": "speak", "spun": "spin", "stood": "stand", "stuck": "stick", "struck": "strike", "swam": "swim",
    "swung": "swing", "took": "take", "taken": "take", "taught": "teach", "told": "tell", "threw": "throw",
    "thrown": "throw", "tied": "tie", "tying": "tie", "woke": "wake", "wore": "wear", "worn": "wear", "wrote": "write",
    "written": "write", "dying": "die", "is": "be", "are": "be", "was": "be", "were": "be", "been": "be",
}  # fmt: skip
#: Past forms that are better known as other words.
_NOT_PAST = frozenset({"rose", "saw", "lay", "bore", "left", "felt"})

#: What people do for its own sake: good tags, though they end like any other form of a verb.
_ACTIVITIES = """
    archery biking boating bowling boxing camping canoeing climbing cooking cricket cycling dancing diving drawing
    fencing fishing gardening gliding golfing gymnastics hiking horseback hunting hurdling jogging juggling kayaking
    kiteboarding kitesurfing knitting painting parachuting paragliding parasailing racing rafting rappelling rowing
    running sailing sewing shopping skateboarding skating skiing skydiving sledding snorkeling snorkelling
    snowboarding surfing swimming surfboarding waterskiing windsurfing wrestling
"""
ACTIVITIES = frozenset(_ACTIVITIES.split())

#: Nouns that end like a form of a verb.
_NOUNS = """
    awning bedding being building bunting ceiling clearing clothing coating covering crossing cutting dressing
    dumpling duckling dwelling earring evening farthing feeling filling flooring frosting gathering grating greeting
    hearing herring icing king lettering lightning lodging lining meeting morning offspring opening outing parking
    paving piercing plumbing pudding railing ring roofing sapling seating serving shilling shipping sibling siding
    sling spring starling stocking string stuffing thing topping turning viking wedding wing wiring wrapping bed breed
    hundred feed moped reed seed shed sled speed steed tweed weed bobsled flatbed seabed watershed ally assembly
    anomaly belly bully butterfly dragonfly family holly italy jelly lily gully potbelly reply rally firefly monopoly
    dolly trolly supply
"""
NOUNS = frozenset(_NOUNS.split())

#: Adjectives, adverbs and vague nouns: they are found in captions by search, but make poor tags.
_UNHELPFUL = """
    able abstract active aerial alone amazing antique asian attractive bare bald beautiful beige big bigger biggest
    black blank blond blonde blue blurred blurry bright brown busy calm casual checkered chubby clean clear clockwise
    close closer closeup close-up colorful colored colourful coloured colour color cold common cool cozy crazy crowded
    curly current curved cute damp dark deep delicious different difficult dirty distant domestic double dry east
    eastern elaborate elderly empty enormous entire european evil exotic extra extreme fake famous fancy far fast fat
    favorite female fine first flat fluffy foreign formal free fresh friendly full fun funny furry fuzzy general giant
    gold golden good gorgeous grassy gray great green grey half hairy handsome happy hard healthy heavy high higher
    hot huge identical indoor indoors inner intense interesting large larger last late left little long lone lonely
    loose loud lovely low lower lush magnificent main male massive medium messy metallic middle-aged mini miniature
    missing misty modern moist motionless muddy multi multicolored multicolour multiple muscular narrow native natural
    neat new nice northern numerous odd old older only ornate outdoor outdoors outer overcast overhead pale parallel
    partial particular past pink plain plaid playful pointy polite poor popular pretty private proper public purple
    quaint quick quiet random rare raw ready real rear recent red regular remote rich right ripe rocky rough round
    rugged rural rustic sad safe salty sandy scenic second senior serious shaded shady shallow sharp shiny shirtless
    short shut shy similar simple single sleepy slow small smaller smooth snowy soft solid solitary southern sparse
    special spotted square steep still stormy straight strange strong striped sunny super sweet tabby tall tan tasty
    teenage thick thin third tiny tired top topless tough traditional tropical typical unique unusual unknown upper
    urban usual various vast vibrant vintage violet visible warm weird well western wet white whole wide wild winding
    windy wintry wonderful wooden worn wrong yellow young younger again ahead almost alongside apart aside asleep atop
    awake away back backward backwards barefoot downhill elsewhere enough especially even forth forward forwards maybe
    midair mid-air mostly nearby nearly often outstretched perhaps quite rather really side-by-side sideways somewhere
    soon sometimes today together uphill upright upside upward upwards upside-down upstairs downstairs underneath
    amount angle appearance area arrangement array assortment attempt background bit blur bottom bunch center centre
    collection combination copy corner couple cover day detail direction display distance edge effect end example
    expression fashion foreground formation front group image item kind length level lot manner middle moment mode
    motion nothing number object one ones opposite pair part parts photo photograph photography pic picture piece
    place portion pose position row scene scenery section series set shape shot side size snapshot someone something
    somebody sort spot surface thing time tour type variety vicinity view way eight eighteen eighty eleven fifteen
    fifth fifty five forty four fourteen fourth nine nineteen ninety seven seventeen seventy six sixteen sixty ten
    thirteen thirty thousand three trio dozen twelve twenty
"""
UNHELPFUL = frozenset(_UNHELPFUL.split())

#: Words that begin a group of nouns.
_DETERMINERS = """
    a an the this that these those his her its their our my your some several many few two three four five six seven
    eight nine ten each every another both any no
"""
DETERMINERS = frozenset(_DETERMINERS.split())
SINGULAR_DETERMINERS = frozenset({"a", "an", "one", "each", "every", "another", "this", "that"})
FORMS_OF_BE = frozenset({"is", "are", "was", "were", "be", "been", "being", "isn't", "aren't", "wasn't", "weren't"})


@cache
def verb_of(word: str) -> str | None:
    """The verb in :data:`VERBS` that ``word`` is a form of, None if it is none.

    >>> [verb_of(word) for word in ("wearing", "rides", "running", "parked", "sat", "building", "boat")]
    ['wear', 'ride', 'run', 'park', 'sit', None, None]
    """
    if word in VERBS:
        return word
    if word in NOUNS:
        return None
    if word in _IRREGULAR and word not in _NOT_PAST:
        return _IRREGULAR[word]
    for ending, changes in _ENDINGS:
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            for change in changes:
                if (base := stem + change) in VERBS:
                    return base
            if len(stem) > 2 and stem[-1] == stem[-2] and stem[:-1] in VERBS:
                return stem[:-1]
    return None


_ENDINGS = (("ies", ("y",)), ("ied", ("y",)), ("es", ("", "e")), ("s", ("",)), ("ing", ("", "e")), ("ed", ("", "e")))
