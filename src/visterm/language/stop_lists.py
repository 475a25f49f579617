"""Words that say nothing about a picture, by language."""

from __future__ import annotations

_STOP_WORDS = {
    "en": """
        a about above across after again against all almost along alongside already also although always am amid
        amidst among amongst an and another any are aren't around as at atop away be because been before behind
        being below beneath beside besides between beyond but by can can't cannot could despite did do does doesn't
        doing don't down during each either else et etc ever every except few for from further had has have having
        he he's hence her here hers herself him himself his how i i'll i'm i've if in inside into is isn't it it's
        its itself just let like many may me might mine more most much must my myself near next no nor not of off on
        once one oneself only onto or other ought our ours ourselves out outside over own per plus regarding same
        several shall she she's should since so some such than that that's the their theirs them themselves then
        there there's these they they're this those through thus till to together too toward towards under
        underneath unless unlike until up upon us versus very via was we we're were what whatever when whenever
        where whereby wherein wherever whether which whichever while whilst who who's whoever whom whose why will
        with within without worth would yet you you're your yours yourself yourselves
    """,
    "de": """
        aber alle allem allen aller alles als also am an andere anderen anstatt auch auf aus ausser außer bei beim
        bevor bin bis da dabei damit daneben dann daran darauf darin darum darunter darüber das dass davon davor
        dazu dein deine dem den denen denn der deren derer des dessen die dies diese diesem diesen dieser dieses
        doch dort du durch eben ehe ein eine einem einen einer eines einige einigen einiger er es etwa etwas euch
        euer falls für gar gegen habe haben hat hatte hatten hattest hier hinten hinter ich ihm ihn ihnen ihr ihre
        ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jedoch jenem jenen jener kann kein keine
        keinem keinen keiner können könnte mag man manche mehr mein meine meinem meinen meiner mich mir mit muss
        müssen nach neben nicht noch nun nur ob obwohl oder ohne sehr sei seid sein seine seinem seinen seiner
        seines seit selbst sich sie sind so soll sollen sonst statt trotz um und uns unser unter viel viele vom von
        vor war waren was weil welche welchem welchen welcher welches wenn wer werden wessen wie wieder wir wird wo
        wollen worden wurde wurden während währenddessen zu zum zur zwar zwischen über
    """,
    "fr": """
        a afin ai ainsi alors après au aucun auquel aura aussi autre autres aux avaient avait avant avec avoir ayant
        beaucoup c car ce ceci cela celle celles celui cependant certaines certains ces cet cette chacun chaque chez
        comme contre d dans de depuis derrière des dessous dessus devant donc dont du duquel dès elle elles en
        encore entre est et eu eux fait fut fût ici il ils j jamais je jusqu l la laquelle le lequel les lesquelles
        lesquels leur leurs lors lorsque lui m ma mais malgré me mes mienne moi moins mon même n ne ni nos notre
        nous on ont ou où par parce parmi pas pendant peu plus pour pourquoi près puis puisque qu quand que quel
        quelle quelles quelques quels qui quoi rien s sa sans se selon ses si sien sinon soi soit sommes son sont
        sous sur t ta tandis te tel telle telles tels tes toi ton tous tout toute toutes trop très tu un une va vers
        voici voilà vont vos votre vous y étaient était été être
    """,
    "es": """
        a además ahora al algo alguna alguno algunos ambas ambos ante antes aquel aquella aquellas aquello aquellos
        aquí así aunque aún bajo bien cada casi como con contra cual cualquier cuando cuya cuyo cuyos de debajo del
        delante dentro desde después detrás dicho donde doquier durante e el ella ellas ellos en encima enfrente
        entre era eran es esa esas ese eso esos esta estaba estaban estando estas este esto estos está están fue
        fuera ha había habían hace hacen hacia han hasta hay he hemos junto la las le les lo los me mi mientras mis
        misma mismas mismo mismos mucho muchos muy más nada ni ninguna ninguno no nos nosotros nuestra nuestro nunca
        o ora os otra otras otro otros para pero poco por porque pues que quien quienes qué se sea según ser si sido
        siempre sin sino sobre solo son su sus sí sólo tal tales también tampoco tan tanto te tener tiene tienen
        toda todas todo todos tras tu tus u un una unas uno unos usted ustedes vosotros y ya yo él
    """,
    "it": """
        a abbiamo ad affinché agli ai al alcune alcuni all alla alle allo allora altra altre altri altro ambedue
        anche ancora avanti avere aveva avevano c che chi ci ciascun ciascuno ciò coi col come con contro cosa così
        cui d da dagli dai dal dall dalla dalle dallo davanti degli dei del dell della delle dello dentro di dietro
        dopo dove dunque durante e ed ella entrambi era erano essa esse essere essi esso finché fosse fra fuori
        furono già gli gran ha hanno i il in infatti inoltre invece io l la le lei li lo loro lui lungo ma mai
        malgrado me mediante mentre mi mia mie mio molti molto ne negli nei nel nell nella nelle nello nemmeno
        neppure nessun nessuna nessuno niente no noi non nostra nostro nulla o ogni oltre oppure ovvero per perché
        più poco presso prima pure qualche qualcuno quale quando quanto quasi quel quell quella quelle quelli quello
        quest questa queste questi questo qui quindi s sarà se sei senza si sia siamo sono sopra sotto sta stanno
        stata stato stessa stesse stessi stesso su sua sue sugli sui sul sull sulla sulle sullo suo suoi sé tale
        tali tanto tra tu tutta tuttavia tutte tutti tutto un una uno v vengono verso vi via viene voi è
    """,
    "nl": """
        aan achter al aldus alle alleen alles als alsof ander andere beide bent bij binnen boven buiten daar daarin
        daarop dan dat de deed deze dezelfde die dit doch doen door doordat dus een eens elk elke en ene er ergens
        erin eronder erop ervan evenals gaan gaat geen geworden haar had hadden hare heb hebben hebt heeft heel hem
        hen het hetzelfde hier hierop hij hoe hun ieder iedereen iemand iets ik in indien inmiddels is ja je jezelf
        jij jouw jullie kan kon konden kunnen langs maar mag me meer men met mezelf mij mijn moet moeten na naar
        naast nadat niet niets noch nog nooit nu of ofschoon ofwel om omdat omheen onder ons onze ooit ook op opdat
        over reeds rond samen sinds te tegen ten ter terwijl tijdens toch toen tot totdat tussen u uit uw uwe van vanaf
        vanuit veel via voor vooral waar waarbij waarin waarop waarvan wanneer waren was wat we wel werd werden wie
        wij wil willen worden wordt zal ze zelf zich zij zijn zo zodat zonder zou zouden zowel zulke zullen
    """,
    "pt": """
        a ainda algum alguma algumas alguns além ambas ambos ante ao aos apenas após aquela aquelas aquele aqueles
        aqui aquilo as assim através atrás até cada com como conforme contra cuja cujo cujos da daquele das de dela
        dele deles dentro depois desde dessa dessas desse desses desta destas deste destes do dos durante e ela elas
        ele eles em embora enquanto entre então era eram essa essas esse esses esta estando estas estava estavam
        este estes está estão eu foi fora foram frente haver havia há isso isto junto já la las lhe lhes lo logo los
        mais mas me mesma mesmas mesmo mesmos meu meus minha muito muitos na nas nem nenhum nenhuma nessa nesse
        nesta neste no nos nossa nossas nosso nossos num numa nunca não nós o onde os ou outra outras outro outros
        para pela pelas pelo pelos perante perto pois por porque portanto porém quais qual qualquer quando quanto
        que quem se segundo seja sem sempre sendo ser seu seus sido sob sobre somente sua suas são só tais tal
        também tanto tem ter teu teve tinha tinham toda todas todo todos tu tua tudo têm um uma umas uns você vocês
        vos à às é
    """,
}
_BY_LANGUAGE = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}
#: The languages that have a list.
LISTED = tuple(_BY_LANGUAGE)
_NONE: frozenset[str] = frozenset()


def stop_words(language: str = "en") -> frozenset[str]:
    """Words that say nothing of a picture, in lower case; none where the language has no list.

    >>> "the" in stop_words(), "und" in stop_words("de"), len(stop_words("fi"))
    (True, True, 0)
    """
    return _BY_LANGUAGE.get(language, _NONE)
