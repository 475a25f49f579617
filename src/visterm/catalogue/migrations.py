"""The steps by which a catalogue's file came to be: each entry of :data:`MIGRATIONS` upgrades it by one version.

A new file runs them all. A released step is never edited: a change of the schema is a new step at the end.
"""

from collections.abc import Sequence

Migration = Sequence[str]

# Times are microseconds since 1970 (UTC): a fifth of the size of text, and fast to compare.
_TABLES = (
    """
    CREATE TABLE picture (
        id INTEGER PRIMARY KEY,
        sha256 TEXT NOT NULL UNIQUE CHECK (length(sha256) = 64),
        pixels TEXT,
        size INTEGER NOT NULL,
        width INTEGER,
        height INTEGER,
        orientation INTEGER,
        state TEXT NOT NULL CHECK (state IN ('ok', 'unreadable')),
        reason TEXT,
        split TEXT,
        caption TEXT,
        caption_source INTEGER REFERENCES source,
        added INTEGER NOT NULL
    )
    """,
    # missing: the file was gone at the last scan of its folder; the picture keeps its labels
    """
    CREATE TABLE path (
        path TEXT PRIMARY KEY,
        picture_id INTEGER NOT NULL REFERENCES picture ON DELETE CASCADE,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        missing INTEGER NOT NULL DEFAULT 0 CHECK (missing IN (0, 1))
    ) WITHOUT ROWID
    """,
    "CREATE INDEX path_of_picture ON path (picture_id)",
    """
    CREATE TABLE term (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('class', 'tag')),
        name TEXT NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0 CHECK (dropped IN (0, 1)),
        UNIQUE (kind, name)
    )
    """,
    """
    CREATE TABLE alias (
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        term_id INTEGER NOT NULL REFERENCES term ON DELETE CASCADE,
        PRIMARY KEY (kind, name)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX alias_of_term ON alias (term_id)",
    # model: the NAME of 'model NAME@VERSION', by which a new version finds the earlier ones
    """
    CREATE TABLE source (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        rank INTEGER NOT NULL CHECK (rank BETWEEN 0 AND 2),
        model TEXT
    )
    """,
    """
    CREATE TABLE label (
        picture_id INTEGER NOT NULL REFERENCES picture ON DELETE CASCADE,
        term_id INTEGER NOT NULL REFERENCES term ON DELETE CASCADE,
        source_id INTEGER NOT NULL REFERENCES source,
        state TEXT NOT NULL CHECK (state IN ('accepted', 'rejected', 'suggested')),
        score REAL,
        time INTEGER NOT NULL,
        PRIMARY KEY (picture_id, term_id, source_id)
    ) WITHOUT ROWID
    """,
    # no index by term: only rare edits of the vocabulary would gain, and every write would be slower
    "CREATE INDEX label_of_source ON label (source_id)",
    """
    CREATE TABLE region (
        id INTEGER PRIMARY KEY,
        picture_id INTEGER NOT NULL REFERENCES picture ON DELETE CASCADE,
        term_id INTEGER NOT NULL REFERENCES term ON DELETE CASCADE,
        source_id INTEGER NOT NULL REFERENCES source,
        left REAL NOT NULL,
        top REAL NOT NULL,
        right REAL NOT NULL,
        bottom REAL NOT NULL
    )
    """,
    "CREATE INDEX region_of_picture ON region (picture_id)",
    "CREATE INDEX region_of_term ON region (term_id)",
)

_SEQUENCE_AND_SETTINGS = (
    # One row: how many transactions have changed this catalogue. What is kept in memory is as old as its number.
    "CREATE TABLE sequence (number INTEGER NOT NULL)",
    "INSERT INTO sequence VALUES (0)",
    # What the collection is like, such as the language of its captions.
    "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)

_REMOVED_FILES = (
    # Files that a person removed, with what they held: adding their folder again leaves them out.
    """
    CREATE TABLE removed (
        path TEXT PRIMARY KEY,
        sha256 TEXT NOT NULL,
        pixels TEXT,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX removed_content ON removed (sha256)",
    "CREATE INDEX removed_pixels ON removed (pixels)",
)

_EXPORTED_PICTURES = (
    # Pictures whose labels were written beside them: what comes back from there is an echo, not an import.
    "CREATE TABLE exported (picture_id INTEGER PRIMARY KEY REFERENCES picture ON DELETE CASCADE)",
)

_HISTORY = (
    # What a person or an import changed, one row for each command: see visterm.catalogue.log. The changes of an action
    # are those from first to last. undone: 0 it holds; 1 it was undone and can be redone; 2 it was undone for good.
    """
    CREATE TABLE action (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        time INTEGER NOT NULL,
        who TEXT NOT NULL,
        what TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        undone INTEGER NOT NULL DEFAULT 0 CHECK (undone IN (0, 1, 2)),
        undone_time INTEGER
    )
    """,
    "CREATE INDEX action_of_change ON action (first)",
    # One row of another table before and after, as JSON; NULL where there was none.
    """
    CREATE TABLE change (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        picture_id INTEGER,
        before TEXT,
        after TEXT
    )
    """,
    "CREATE INDEX change_of_picture ON change (picture_id) WHERE picture_id IS NOT NULL",
    # What a picture was before its file was edited, or before it was removed. An id belongs to one picture for ever.
    """
    CREATE TABLE version (
        picture_id INTEGER NOT NULL,
        sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
        pixels TEXT,
        size INTEGER NOT NULL,
        width INTEGER,
        height INTEGER,
        orientation INTEGER,
        state TEXT NOT NULL,
        reason TEXT,
        path TEXT,
        time INTEGER NOT NULL,
        PRIMARY KEY (picture_id, sha256)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX version_content ON version (sha256)",
    "CREATE INDEX picture_pixels ON picture (pixels)",
    # The id of a term is never used again.
    """
    CREATE TABLE renewed (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL CHECK (kind IN ('class', 'tag')),
        name TEXT NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0 CHECK (dropped IN (0, 1)),
        UNIQUE (kind, name)
    )
    """,
    "INSERT INTO renewed SELECT id, kind, name, dropped FROM term",
    "DROP TABLE term",
    "ALTER TABLE renewed RENAME TO term",
    # Which label is newer is decided by the sequence number of its transaction: clocks go back.
    "ALTER TABLE label ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0",
    """
    WITH place AS MATERIALIZED (
        SELECT time, row_number() OVER (ORDER BY time) AS number FROM (SELECT DISTINCT time FROM label))
    UPDATE label SET sequence = place.number FROM place WHERE place.time = label.time
    """,
    "UPDATE sequence SET number = max(number, (SELECT coalesce(max(sequence), 0) FROM label))",
)

_FORMER_PATHS = (
    # Where files were before they were moved or deleted: label files go on naming pictures by these paths. A picture
    # that was removed and comes back by an undo has its former paths again, so nothing is deleted with a picture.
    "CREATE TABLE former (path TEXT PRIMARY KEY, picture_id INTEGER NOT NULL) WITHOUT ROWID",
)

_ACTS = (
    # By which act a label was given: see visterm.catalogue.acts.
    "ALTER TABLE label ADD COLUMN act INTEGER NOT NULL DEFAULT 0 CHECK (act BETWEEN 0 AND 4)",
    # This source says that its tags of this picture are all there are, also if it names none.
    """
    CREATE TABLE described (
        picture_id INTEGER NOT NULL REFERENCES picture ON DELETE CASCADE,
        source_id INTEGER NOT NULL REFERENCES source,
        act INTEGER NOT NULL CHECK (act IN (1, 2, 3)),
        PRIMARY KEY (picture_id, source_id)
    ) WITHOUT ROWID
    """,
    # A reading of what was not written down: imports describe. What a person gave to several pictures at once was said
    # of a selection; what was given to one picture describes it.
    """
    UPDATE label SET act = 1 WHERE state = 'accepted' AND source_id IN (SELECT id FROM source WHERE rank = 1)
    """,
    """
    UPDATE label SET act = 1 WHERE state = 'accepted' AND source_id IN (SELECT id FROM source WHERE rank = 2)
    AND (term_id, source_id, time) IN (
        SELECT term_id, source_id, time FROM label WHERE state = 'accepted'
        GROUP BY term_id, source_id, time HAVING count(*) = 1)
    """,
    """
    INSERT INTO described SELECT DISTINCT picture_id, source_id, 1 FROM label JOIN term ON term.id = term_id
    WHERE act = 1 AND kind = 'tag'
    """,
    # The log has whole rows: those of labels get the new column, too.
    *(
        f"""
        UPDATE change SET {column} = json_insert({column}, '$[#]', CASE
            WHEN json_extract({column}, '$[3]') != 'accepted' THEN 0
            WHEN (SELECT rank FROM source WHERE id = json_extract({column}, '$[2]')) = 1 THEN 1
            ELSE coalesce((
                SELECT act FROM label WHERE picture_id = json_extract({column}, '$[0]')
                AND term_id = json_extract({column}, '$[1]') AND source_id = json_extract({column}, '$[2]')
                AND time = json_extract({column}, '$[5]')), 0) END)
        WHERE kind IN ('label', 'suggestion') AND json_valid({column})
        """  # noqa: S608 - constants
        for column in ("before", "after")
    ),
)

_METADATA = (
    # What the file of a picture and its sidecars say: see visterm.catalogue.metadata.
    """
    CREATE TABLE metadata (
        picture_id INTEGER PRIMARY KEY REFERENCES picture ON DELETE CASCADE,
        taken TEXT,
        zone INTEGER,
        latitude REAL,
        longitude REAL,
        camera TEXT,
        lens TEXT,
        exposure REAL,
        aperture REAL,
        iso INTEGER,
        focal_length REAL,
        rating INTEGER,
        colour TEXT,
        pick INTEGER,
        title TEXT,
        creator TEXT,
        copyright TEXT
    )
    """,
    # A title that a person gave.
    "CREATE TABLE title (picture_id INTEGER PRIMARY KEY REFERENCES picture ON DELETE CASCADE, text TEXT NOT NULL)",
)

_TWINS = (
    # What a person said of two pictures that look like copies: see visterm.catalogue.twins.
    """
    CREATE TABLE pair (
        first INTEGER NOT NULL REFERENCES picture ON DELETE CASCADE,
        second INTEGER NOT NULL REFERENCES picture ON DELETE CASCADE,
        said TEXT NOT NULL CHECK (said IN ('same', 'series', 'different')),
        time INTEGER NOT NULL,
        PRIMARY KEY (first, second),
        CHECK (first < second)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX pair_of_second ON pair (second)",
    # The pictures of such groups that a person wants to keep.
    "CREATE TABLE kept (picture_id INTEGER PRIMARY KEY REFERENCES picture ON DELETE CASCADE, time INTEGER NOT NULL)",
)

MIGRATIONS: tuple[Migration, ...] = (
    _TABLES,
    _SEQUENCE_AND_SETTINGS,
    _REMOVED_FILES,
    _EXPORTED_PICTURES,
    _HISTORY,
    _FORMER_PATHS,
    _ACTS,
    _METADATA,
    _TWINS,
)
