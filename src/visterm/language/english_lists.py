"""Lists of frequent English words that seldom say what is in a picture, and the forms of verbs."""

from __future__ import annotations

from functools import cache

#: Verbs that captions use. Their forms are not tags, unless the captions use them as nouns.
_VERBS = """
    accompany act add adjust admire aim allow appear apply approach arrange arrive ask assist attach attempt await
    bake balance bathe be beat become begin bend bite bloom blow board bounce break bring browse build burn bury buy
    call carry carve catch celebrate change chase check chew clap clean climb cling close collect come compete
    complete concentrate contain continue converse cook cover crawl create cross crouch cry cut dance dangle decorate
    depict dig dine dip direct display dive do drag draw dress drink drive drop dry eat embrace enjoy enter examine
    exit explain explore extend face fall feature feed feel fight fill find finish fix flip float fly focus fold
    follow form frolic gallop gather gaze get give glide glow go grab graze grill grin grind grip grow guard guide
    hail hang have head help herd hike hit hold hop hover hug hunt hurdle include inspect interact jog join juggle
    jump keep kick kiss kneel knit know lay lead lean leap learn leave let lick lie lift light line listen live load
    lock look lose lounge lower make march meet melt mend mix mount move mow nap navigate near observe offer open
    operate overlook paddle paint park pass pat pay pedal peek peel perch perform pet pick place plant play plunge
    point pose pour practice practise prepare present press pretend protest prowl pull push put race raise reach read
    recline relax remain remove repair rest ride rise roast roll run rush sail say search see seem sell serve set
    shake share shine shoot shop shovel show sing sit skate ski sleep slice slide smell smile smoke sniff soar speak
    spin splash spray spread sprint stack stand stare start stay step stick stop stretch strike stroke stroll study
    surf surround suspend swim swing take talk taste teach tell throw tie toss touch tour tow train travel trot try
    turn type use visit wade wait wake walk wander want wash watch wave wear wink wipe work wrap wrestle write yawn
"""
VERBS = frozenset(_VERBS.split())

#: Verbs whose plain form names a thing more often than an act.
_THINGS_TOO = """
    bloom board call clap cook cover cross cut dance dip dress drink drop face fall feed fight float fly fold form
    grill guard guide hang head herd hike hug hurdle jump kiss light line lock lounge mount nap paddle paint park pass
    pedal peel pet place plant play point present press protest race ride roast roll sail search set shop shovel show
    skate ski slide smile smoke spray stack step stick stroke study surf swing tie tour train turn walk watch wave
    work wrap
"""
THINGS_TOO = frozenset(_THINGS_TOO.split())

#: Past forms that the rules for endings do not give.
_IRREGULAR = {
    "beaten": "beat", "became": "become", "began": "begin", "bent": "bend", "bit": "bite",
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
_NOT_PAST = frozenset({"rose", "saw", "lay", "left", "felt"})

#: What people do for its own sake: good tags, though they end like any other form of a verb.
_ACTIVITIES = """
    archery biking boating bowling boxing camping canoeing climbing cooking cricket cycling dancing diving drawing
    fencing fishing gardening gliding golfing gymnastics hiking horseback hunting hurdling jogging juggling kayaking
    kiteboarding kitesurfing knitting painting parachuting paragliding parasailing racing rafting rappelling rowing
    running sailing sewing shopping skateboarding skating skiing skydiving sledding snorkeling snorkelling
    snowboarding surfboarding surfing swimming waterskiing windsurfing wrestling
"""
ACTIVITIES = frozenset(_ACTIVITIES.split())

#: Nouns that end like a form of a verb.
_NOUNS = """
    ally anomaly assembly awning bed bedding being belly bobsled breed building bully bunting butterfly ceiling
    clearing clothing coating covering crossing cutting dolly dragonfly dressing duckling dumpling dwelling earring
    evening family farthing feed feeling filling firefly flatbed flooring frosting gathering grating greeting gully
    hearing herring holly hundred icing italy jelly king lettering lightning lily lining lodging meeting monopoly
    moped morning offspring opening outing parking paving piercing plumbing potbelly pudding railing rally reed reply
    ring roofing sapling seabed seating seed serving shed shilling shipping sibling siding sled sling speed spring
    starling steed stocking string stuffing supply thing topping trolly turning tweed viking watershed wedding weed
    wing wiring wrapping
"""
NOUNS = frozenset(_NOUNS.split())

#: Adjectives, adverbs and vague nouns: they are found in captions by search, but make poor tags.
_UNHELPFUL = """
    able abstract active aerial again ahead almost alone alongside amazing amount angle antique apart appearance area
    arrangement array asian aside asleep assortment atop attempt attractive awake away back background backward
    backwards bald bare barefoot beautiful beige big bigger biggest bit black blank blond blonde blue blur blurred
    blurry bottom bright brown bunch busy calm casual center centre checkered chubby clean clear clockwise close
    close-up closer closeup cold collection color colored colorful colour coloured colourful combination common cool
    copy corner couple cover cozy crazy crowded curly current curved cute damp dark day deep delicious detail
    different difficult direction dirty display distance distant domestic double downhill downstairs dozen dry east
    eastern edge effect eight eighteen eighty elaborate elderly eleven elsewhere empty end enormous enough entire
    especially european even evil example exotic expression extra extreme fake famous fancy far fashion fast fat
    favorite female fifteen fifth fifty fine first five flat fluffy foreground foreign formal formation forth forty
    forward forwards four fourteen fourth free fresh friendly front full fun funny furry fuzzy general giant gold
    golden good gorgeous grassy gray great green grey group hairy half handsome happy hard healthy heavy high higher
    hot huge identical image indoor indoors inner intense interesting item kind large larger last late left length
    level little lone lonely long loose lot loud lovely low lower lush magnificent main male manner massive maybe
    medium messy metallic mid-air midair middle middle-aged mini miniature missing misty mode modern moist moment
    mostly motion motionless muddy multi multicolored multicolour multiple muscular narrow native natural nearby
    nearly neat new nice nine nineteen ninety northern nothing number numerous object odd often old older one ones
    only opposite ornate outdoor outdoors outer outstretched overcast overhead pair pale parallel part partial
    particular parts past perhaps photo photograph photography pic picture piece pink place plaid plain playful pointy
    polite poor popular portion pose position pretty private proper public purple quaint quick quiet quite random rare
    rather raw ready real really rear recent red regular remote rich right ripe rocky rough round row rugged rural
    rustic sad safe salty sandy scene scenery scenic second section senior series serious set seven seventeen seventy
    shaded shady shallow shape sharp shiny shirtless short shot shut shy side side-by-side sideways similar simple
    single six sixteen sixty size sleepy slow small smaller smooth snapshot snowy soft solid solitary somebody someone
    something sometimes somewhere soon sort southern sparse special spot spotted square steep still stormy straight
    strange striped strong sunny super surface sweet tabby tall tan tasty teenage ten thick thin thing third thirteen
    thirty thousand three time tiny tired today together top topless tough tour traditional trio tropical twelve
    twenty type typical underneath unique unknown unusual uphill upper upright upside upside-down upstairs upward
    upwards urban usual variety various vast vibrant vicinity view vintage violet visible warm way weird well western
    wet white whole wide wild winding windy wintry wonderful wooden worn wrong yellow young younger
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
