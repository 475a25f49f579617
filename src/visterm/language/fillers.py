"""Words by which people ask for pictures, and which say nothing about what is in them, by language."""

from __future__ import annotations

_FILLERS = {
    "en": """
        photo photos photograph photographs picture pictures pic pics image images snapshot snapshots shot shots
        show find search look looking display give get see want need please containing featuring showing
    """,
    "de": """
        foto fotos fotografie fotografien bild bilder aufnahme aufnahmen
        zeig zeige zeigen finde finden such suche suchen gib will möchte bitte
    """,
    "fr": """
        photo photos photographie photographies image images cliché clichés
        montre montrer montrez trouve trouver trouvez cherche chercher donne voir veux voudrais
    """,
    "es": """
        foto fotos fotografía fotografías imagen imágenes
        muestra muéstrame mostrar busca buscar encuentra encontrar dame ver quiero
    """,
    "it": """
        foto fotografia fotografie immagine immagini
        mostra mostrami mostrare cerca cercare trova trovare dammi vedere voglio vorrei
    """,
    "nl": """
        foto foto's fotos fotografie afbeelding afbeeldingen plaatje plaatjes beeld beelden
        toon tonen vind vinden zoek zoeken geef zien wil graag
    """,
    "pt": """
        foto fotos fotografia fotografias imagem imagens retrato retratos
        mostra mostrar mostre encontra encontrar procura procurar dá ver quero queria
    """,
}
_BY_LANGUAGE = {language: frozenset(words.split()) for language, words in _FILLERS.items()}


def filler_words(language: str = "en") -> frozenset[str]:
    """Words such as "photos" and "show" in "show me photos of dogs"; none where the language has no list.

    >>> "photos" in filler_words(), "bilder" in filler_words("de"), len(filler_words("fi"))
    (True, True, 0)
    """
    return _BY_LANGUAGE.get(language, frozenset())
