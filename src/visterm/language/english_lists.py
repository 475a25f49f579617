"""Lists of English words by kind, and the forms of verbs."""

from __future__ import annotations

import re
from functools import cache

#: Verbs that captions use: their forms count as one word.
_VERBS = """
    abandon absorb accept accompany act adapt add adjust admire adopt advance age aim allow amuse anchor announce
    appear apply approach argue arouse arrange arrest arrive ascend ask assemble assist attach attack attempt attend
    avoid await award bake balance bark bask bat bathe battle be bear beat become begin bend bike bind bite blend
    bless blindfold block bloom blow board bob boil bounce brave break breathe brew bring browse brush bubble build
    bump bundle burn burst bury buy call camp cancel canoe captivate capture caress carry carve cast catch celebrate
    challenge change chant charge charm chase chat check cheer chew chop chuckle clap clasp clean clench click climb
    cling clip close clutch coach coil collapse collect color colour comb combine come comfort command compare
    compete complete compose concentrate conduct confuse congregate connect consider construct consume contain
    contemplate continue control converge converse cook cool cover crack cram crash crawl create cross crouch crowd
    cruise crumble crush cry cuddle curl cut cycle damage dance dangle darken dash debate decide declare decorate
    deliver demonstrate depart depict descend describe design destroy devour dig dine dip direct discover discuss
    disembark dismantle dismount display distort dive do dodge doze drag drain draw dress dribble drift drill drink
    drip drive drop dry duck dunk dye earn eat embed embrace embroider emerge encircle enclose encounter engage
    engrave enjoy enter entertain equip erect escape escort examine exchange excite exercise exhibit exit expand
    expect explain explore express extend extinguish face fade fail fall fasten feature feed feel fetch fight file
    fill film find finish fire fish fix flap flash flatten flee flex fling flip float flock flood flow flutter fly
    focus fold follow forage force form frame freeze frolic frown furnish gallop garnish gather gaze gesture get
    giggle give glance glare glide glow gnaw go gossip grab grasp graze greet grill grin grind grip groom grow growl
    guard guess guide hail hand handle hang happen harness harvest haul have head help herd hide hike hiss hit hitch
    hoist hold hook hop hover howl huddle hug hunch hunt hurdle hurl hurry ignore illuminate imitate impress
    improvise include inspect install instruct interact intertwine introduce investigate invite iron jab jam jog
    join joke joust juggle jump jut kayak keep kick kiss kneel knit knock know label lace land lap laugh launch lay
    layer lead lean leap learn leash leave lecture let lick lie lift light line linger link listen litter live load
    locate lock log look loom loop lose lounge lower lunge maintain make man manage maneuver manipulate march mark
    marry massage match maul measure meditate meet melt mend merge milk mix model mop mount move mow muzzle nap
    navigate near nestle nibble nip nod number nurse observe occupy offer open operate oppose organize outstretch
    overflow overlook overtake pack paddle paint pant parachute parade parasail park pass pat pattern pave pay peck
    pedal peek peel peer perch perform perspire pet photograph pick pile pin pitch place plant play plow plug plunge
    point poke polish pop portray pose pounce pound pour power practice practise pray preach prepare present press
    pretend produce prop propel protect protest protrude prowl prune pucker pull pump punch purchase push put race
    raft raise rake rally ram ramble rappel reach react read rebuild receive reclaim recline record recover reel
    refill reflect refuse rehearse relax release remain remodel remove rent repair repeat replace report rescue
    resemble reserve resist respond rest restore restrain retrieve return reveal reverse ride rinse rip rise risk
    roam roar roast rock roll rollerblade rollerskate romp roost rope rotate round row rub rummage run rush saddle
    sail salute sample say scale scamper scan scatter scold scoop scoot score scowl scramble scrape scratch scream
    screen scrub sculpt seal search seat secure see seem seize select sell send separate serve set sew shade shake
    shape share shave shear shelter shield shift shine ship shiver shoot shop shout shove shovel show shred shrug
    sift sign signal silhouette sing sink sip sit size skate skateboard sketch ski skip slam slap sled sleep slice
    slide slip slope slouch slump smash smear smell smile smirk smoke snack snap snarl sneak sniff snooze snore
    snorkel snowboard snuggle soak soar solve sort sow span spar speak speed spell spend spill spin spit splash
    splatter split sponsor spoon sport spot spray spread spring sprinkle sprint sprout spy squat squeeze squint
    squirt stab stack stagger stain stall stamp stand stare start stay steal steam steer step stick stir stoop stop
    store straddle strain strap streak stream stretch stride strike strip stripe stroke stroll strum strut study
    stuff stumble submerge succeed suck sunbathe supervise support surf surprise surround suspend swaddle sweat
    sweep swerve swim swing swirl swoop tackle tag tailgate take talk tame tap tape target taste teach tear tease
    tell tend test tether thrash thread throw thrust tickle tie tile tilt tip toast topple toss touch tour tow trace
    track trail train transform transport trap travel tread trek trim trip trot trudge try tuck tug tumble turn
    twirl twist type unload unpack unveil unwrap uproot use vacuum vault view visit wade wag wait wake wakeboard
    walk wander want warm warn wash watch water waterski wave wear weigh welcome weld wet wheel whip whisper whistle
    widen wield wiggle win windsurf wink wipe wish witness wonder work worry worship wrap wrestle wrinkle write yawn
    yell yield zip zoom
"""
VERBS = frozenset(_VERBS.split())

#: Verbs whose plain form names a thing more often than an act.
_THINGS_TOO = """
    bear bloom board call clap cook cover cross cut dance dip dress drink drop face fall feed fight float fly fold
    form grill guard guide hang head herd hike hug hurdle jump kiss light line lock lounge mount nap paddle paint
    park pass pedal peel pet place plant play point present press protest race ride roast roll sail search set shop
    shovel show skate ski slide smile smoke spray stack step stick stroke study surf swing tie tour train turn walk
    watch wave work wrap
"""
THINGS_TOO = frozenset(_THINGS_TOO.split())

#: Past forms that the rules for endings do not give.
_IRREGULAR = {
    "beaten": "beat", "became": "become", "began": "begin", "begun": "begin", "bent": "bend", "bitten": "bite",
    "blew": "blow", "blown": "blow", "broke": "break", "broken": "break", "brought": "bring", "built": "build",
    "bought": "buy", "came": "come", "caught": "catch", "cried": "cry", "dug": "dig", "did": "do", "done": "do",
    "drew": "draw", "drawn": "draw", "drank": "drink", "drove": "drive", "driven": "drive", "ate": "eat",
    "eaten": "eat", "fell": "fall", "fallen": "fall", "fed": "feed", "felt": "feel", "fought": "fight", "found": "find",
    "flew": "fly", "flown": "fly", "got": "get", "gave": "give", "given": "give", "went": "go", "gone": "go",
    "grew": "grow", "grown": "grow", "hung": "hang", "held": "hold", "kept": "keep", "knelt": "kneel", "knew": "know",
    "known": "know", "laid": "lay", "led": "lead", "left": "leave", "lay": "lie", "lying": "lie", "lit": "light",
    "lost": "lose", "made": "make", "met": "meet", "paid": "pay", "ran": "run", "rode": "ride", "ridden": "ride",
    "rose": "rise", "said": "say", "saw": "see", "seen": "see", "sold": "sell", "shone": "shine", "shot": "shoot",
    "shown": "show", "sang": "sing", "sat": "sit", "slept": "sleep", "slid": "slide", "spoke": "speak", "spun": "spin",
    "stood": "stand", "stuck": "stick", "struck": "strike", "swam": "swim", "swung": "swing", "took": "take",
    "taken": "take", "taught": "teach", "told": "tell", "threw": "throw", "thrown": "throw", "tied": "tie",
    "tying": "tie", "woke": "wake", "wore": "wear", "worn": "wear", "wrote": "write", "written": "write",
    "dying": "die", "is": "be", "are": "be", "was": "be", "were": "be", "been": "be", "has": "have", "had": "have",
    "froze": "freeze", "frozen": "freeze", "hid": "hide", "hidden": "hide", "chose": "choose", "shook": "shake",
    "shaken": "shake", "stole": "steal", "stolen": "steal", "swept": "sweep", "tore": "tear", "torn": "tear",
    "won": "win", "wept": "weep", "leapt": "leap", "leant": "lean", "crept": "creep", "clung": "cling", "sank": "sink",
    "sunk": "sink", "sung": "sing", "sprang": "spring", "rang": "ring", "dealt": "deal", "sought": "seek",
}  # fmt: skip
#: Past forms that are better known as other words.
_NOT_PAST = frozenset({"rose", "saw", "lay", "left", "felt"})

#: What people do for its own sake: parts of phrases, though they end like any other form of a verb.
_ACTIVITIES = """
    archery biking boating bowling boxing camping canoeing climbing cooking cricket cycling dancing diving drawing
    fencing fishing gardening gliding golfing gymnastics hiking horseback hunting hurdling jogging juggling kayaking
    kiteboarding kitesurfing knitting painting parachuting paragliding parasailing racing rafting rappelling rowing
    running sailing sewing shopping skateboarding skating skiing skydiving sledding snorkeling snorkelling
    snowboarding surfboarding surfing swimming waterskiing windsurfing wrestling
"""
ACTIVITIES = frozenset(_ACTIVITIES.split())

#: Words that end like a form of a verb and are none, or name another thing: fishing is not a fish.
_NOUNS = """
    ally anomaly assembly awning batting bed bedding beginning being belly beloved blessing boating bobsled bowling
    boxing breed building bully bunting butterfly ceiling clearing clothing coating covering crossing cutting dolly
    dragonfly dressing duckling dumpling dwelling earring ending evening family farthing feed feeling fencing
    filling firefly fishing flatbed flooring frosting gathering grating greeting gully hearing herring holly housing
    hundred icing italy jagged jelly kindred king landing lettering lighting lightning lily lining lodging marking
    meaning meeting monopoly moped morning naked offspring opening outing parking paving piercing plumbing potbelly
    pudding ragged railing rally reed reply ring roofing rugged ruling sacred sapling seabed seating seed serving
    shed shilling shipping sibling siding sled sling spelling spring starling steed stocking string stuffing supply
    thing topping trolly tweed upbringing viking warning watershed wedding weed wellbeing wicked winding wing wiring
    wrapping
"""
NOUNS = frozenset(_NOUNS.split())

#: Adjectives, adverbs and vague nouns: they are no part of a phrase.
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
FORMS_OF_BE = frozenset({"is", "are", "was", "were", "be", "been", "being", "isn't", "aren't", "wasn't", "weren't"})


@cache
def verb_of(word: str) -> str | None:
    """The verb in :data:`VERBS` that ``word`` is a form of, None if it is none.

    >>> [verb_of(word) for word in ("wearing", "rides", "running", "striped", "sat", "building", "boat")]
    ['wear', 'ride', 'run', 'stripe', 'sit', None, None]
    """
    if word in VERBS:
        return word
    if word in NOUNS:
        return None
    if word in _IRREGULAR and word not in _NOT_PAST:
        return _IRREGULAR[word]
    for ending in ("ies", "ied"):
        if word.endswith(ending) and (base := word.removesuffix(ending) + "y") in VERBS:
            return base
    for ending in ("s", "es", "ing", "ed"):
        if word.endswith(ending) and (stems := _stems(word.removesuffix(ending), ending)):
            return next((stem for stem in stems if stem in VERBS), None)
    return None


def _stems(stem: str, ending: str) -> list[str]:
    """The verbs from which spelling makes a form with ``ending``: tapped comes from tap, taped from tape."""
    if ending == "s":
        return [stem] if stem in VERBS else []
    if ending == "es":
        return [stem] if stem.endswith(("s", "x", "z", "ch", "sh", "o")) else []
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[:-1] in VERBS:
        return [stem, stem[:-1]]
    return [f"{stem}e"] if _DOUBLED.fullmatch(stem) else [stem, f"{stem}e"]


#: One syllable with one short vowel: such verbs double their last letter before an ending.
_DOUBLED = re.compile(r"[^aeiou]*[aeiouy][^aeiouwxy]")
