"""Counts the contents of a catalogue."""

from dataclasses import dataclass

from visterm.catalogue.labels import KINDS
from visterm.catalogue.log import Connection
from visterm.catalogue.schema import snapshot

_MOST_FREQUENT = 20


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a catalogue holds.

    ``n_with_class``, ``n_with_tags`` and the frequencies count accepted effective labels of readable pictures.
    ``n_missing`` pictures have no file left at a known path. ``label_sources`` counts labels of any state.
    ``suggestions`` counts, for each model, what it suggests and no person or import has decided; ``n_removed`` files
    were removed and stay out.
    """

    n_pictures: int
    n_ok: int
    n_unreadable: int
    n_missing: int
    n_paths: int
    n_with_class: int
    n_with_tags: int
    n_with_caption: int
    n_regions: int
    n_classes: int
    n_tags: int
    classes: dict[str, int]
    frequent_tags: dict[str, int]
    label_sources: dict[str, int]
    splits: dict[str, int]
    suggestions: dict[str, int]
    n_removed: int


def count(connection: Connection) -> Counts:
    """Count everything on one state of the database."""
    with snapshot(connection):
        n_pictures, n_ok, n_with_caption = connection.execute(
            "SELECT count(*), total(state = 'ok'), total(state = 'ok' AND caption IS NOT NULL) FROM picture"
        ).fetchone()
        frequencies, n_with = _frequencies(connection)
        classes, tags = frequencies["class"], frequencies["tag"]
        return Counts(
            n_pictures=n_pictures,
            n_ok=int(n_ok),
            n_unreadable=n_pictures - int(n_ok),
            n_missing=connection.value(
                "SELECT count(*) FROM picture WHERE id NOT IN (SELECT picture_id FROM path WHERE NOT missing)"
            ),
            n_paths=connection.value("SELECT count(*) FROM path"),
            n_with_class=n_with["class"],
            n_with_tags=n_with["tag"],
            n_with_caption=int(n_with_caption),
            n_regions=connection.value("SELECT count(*) FROM region"),
            n_classes=len(classes),
            n_tags=len(tags),
            classes=classes,
            frequent_tags=dict(list(tags.items())[:_MOST_FREQUENT]),
            label_sources=dict(
                connection.execute(
                    """SELECT CASE rank WHEN 1 THEN 'import' ELSE name END AS who, count(*) FROM label
                       JOIN source ON source.id = source_id GROUP BY who ORDER BY rank DESC, name"""
                )
            ),
            splits=dict(
                connection.execute(
                    """SELECT split, count(*) FROM picture WHERE state = 'ok' AND split IS NOT NULL
                       GROUP BY split ORDER BY split"""
                )
            ),
            suggestions=_suggestions(connection),
            n_removed=connection.value("SELECT count(*) FROM removed"),
        )


def unreadable(connection: Connection) -> list[tuple[str, str]]:
    """Path and reason of every file that is not a usable picture."""
    return connection.execute(
        """SELECT path, reason FROM path JOIN picture ON id = picture_id WHERE state = 'unreadable' ORDER BY path"""
    ).fetchall()


def _suggestions(connection: Connection) -> dict[str, int]:
    """By model: the suggestions for readable pictures that nobody has decided, most first.

    A suggested class is decided if the picture has a class.
    """
    if connection.value("SELECT id FROM source WHERE rank = 0") is None:  # no model wrote: else all labels are read
        return {}
    rows = connection.execute(
        """SELECT substr(source, 7), count(*) AS number FROM effective AS suggested
           JOIN picture ON picture.id = picture_id
           WHERE suggested.state = 'suggested' AND picture.state = 'ok' AND (kind = 'tag' OR NOT EXISTS (
               SELECT 1 FROM label JOIN term ON term.id = label.term_id
               WHERE label.picture_id = suggested.picture_id AND term.kind = 'class' AND NOT term.dropped
               AND label.state = 'accepted'))
           GROUP BY source ORDER BY number DESC, source"""
    )
    return dict(rows.fetchall())


def _frequencies(connection: Connection) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """By kind: the number of readable pictures per accepted term, most frequent first, and of those with any term."""
    from visterm.catalogue.tally import accepted, terms  # with NumPy, which not every command needs

    names = {kind: terms(connection, kind) for kind in KINDS}
    counted = accepted(connection, names["class"], names["tag"])
    frequencies: dict[str, dict[str, int]] = {}
    for kind in KINDS:
        counts, _ = counted[kind]
        of_name = [(name, int(counts[number])) for number, name in names[kind].items() if counts[number]]
        frequencies[kind] = dict(sorted(of_name, key=lambda item: (-item[1], item[0])))
    return frequencies, {kind: n_with for kind, (_, n_with) in counted.items()}
