"""Words that say nothing about a picture, by language."""

from __future__ import annotations

_STOP_WORDS = {
    "en": """
        a about above across after again against all almost along already also although always am among an and another
        any are aren't around as at away be because been before behind being below beneath beside besides between beyond
        both but by can can't cannot could did do does doesn't doing don't down during each either else ever every few
        for from further had has have having he her here hers him his how i i'm if in inside into is isn't it its just
        let like many may me might more most much must my near next no nor not of off on once one only onto or other our
        ours out outside over own per same several shall she should since so some such than that the their theirs them
        then there these they this those through to together too toward towards two under until up upon us very via was
        we were what when where whether which while who whom whose why will with within without would you your yours
    """,
    "de": """
        aber alle allem allen aller alles als also am an andere anderen auch auf aus außer ausser bei beim bin bis da
        damit dann das dass dein deine dem den denn der des die dies diese diesem diesen dieser dieses doch dort du
        durch ein eine einem einen einer eines er es etwas euch euer für gegen hat haben hatte hier hinter ich ihm ihn
        ihnen ihr ihre im in ins ist ja jede jeder jedes kein keine kann mehr mein meine mich mir mit nach neben nicht
        noch nun nur ob oder ohne sehr sein seine sich sie sind so über um und uns unser unter viel viele vom von vor
        war waren was weil wenn wer werden wie wir wird wo zu zum zur zwei zwischen
    """,
    "fr": """
        a ai ainsi alors après au aucun aussi autre autres aux avant avec beaucoup c car ce ceci cela celle celui ces
        cet cette chez comme contre d dans de derrière des dessous dessus deux devant donc du elle elles en encore entre
        est et étaient était été être eux fait ici il ils j je jusqu l la le les leur leurs lui m ma mais me même mes
        moi mon n ne ni nos notre nous on ont ou où par parmi pas pendant peu plus pour près qu quand que quel quelle
        qui s sa sans se ses si son sont sous sur t ta te tes toi ton tous tout toute toutes très trop tu un une vers
        voici voilà vos votre vous y
    """,
    "es": """
        a al algo alguna alguno algunos ambos ante antes aquel aquella aquí así aún aunque bajo bien cada casi como con
        contra cual cuando de del desde después detrás donde dos durante e el él ella ellas ellos en encima entre era
        eran es esa esas ese eso esos esta está están estas este esto estos fue ha había hacia han hasta hay junto la
        las le les lo los más me mi mientras mis mucho muchos muy nada ni no nos nosotros nuestra nuestro o otra otras
        otro otros para pero poco por porque que qué quien se según ser si sí sin sino sobre son su sus también tan te
        tiene todo todos tras tu tus u un una unas uno unos y ya yo
    """,
    "it": """
        a abbiamo ad agli ai al alcune alcuni all alla alle allo altra altre altri altro anche ancora avanti c che chi
        ci ciò coi col come con contro cosa così d da dagli dai dal dall dalla dalle dallo degli dei del dell della
        delle dello dentro di dietro dopo dove due durante e è ed era erano essere fra fuori già gli ha hanno i il in
        io l la le lei li lo loro lui ma me mentre mi mia mie mio molti molto ne negli nei nel nell nella nelle nello
        no noi non nostra nostro o ogni per perché più poco presso prima quale quando quasi quel quell quella quelle
        quelli quello quest questa queste questi questo qui s sé se senza si sono sopra sotto stata stato su sua sue
        sugli sui sul sull sulla sulle sullo suo suoi tra tu tutta tutte tutti tutto un una uno v verso vi via voi
    """,
    "nl": """
        aan achter al alle als ander andere bij binnen boven buiten daar dan dat de deze die dit doch doen door dus een
        eens en er ergens geen haar had hadden heb hebben heeft heel het hem hen hier hij hoe hun iets ik in is ja je
        jouw jullie kan langs maar me meer men met mij mijn na naar naast niet niets nog nu of om omdat onder ons onze
        ook op over reeds rond samen sinds te tegen ten ter tijdens toch toen tot tussen twee u uit uw van veel via
        voor waar waren was wat we wel werd wie wij wordt worden zal ze zelf zich zij zijn zo zonder
    """,
    "pt": """
        a à ao aos aquela aquele aqui aquilo as às até cada com como contra da daquele das de dela dele deles depois
        desde dessa desse desta deste do dois dos duas durante e é ela elas ele eles em entre era eram essa essas esse
        esses esta está estão estas este estes eu foi foram há isso isto já junto lhe lhes mais mas me mesmo meu meus
        minha muito muitos na não nas nem nessa nesse nesta neste no nos nós nossa nosso num numa o onde os ou outra
        outras outro outros para pela pelas pelo pelos perto por porque quando que quem se sem ser seu seus só sob sobre
        são sua suas também tem têm teu todas todo todos tu tua um uma umas uns você
    """,
}
_BY_LANGUAGE = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}


def stop_words(language: str = "en") -> frozenset[str]:
    """Words that say nothing of a picture, in lower case; none where the language has no list.

    >>> "the" in stop_words(), "und" in stop_words("de"), len(stop_words("fi"))
    (True, True, 0)
    """
    return _BY_LANGUAGE.get(language, frozenset())
