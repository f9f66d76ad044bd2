-- Studies that came from another store in a file: they were measured elsewhere.
CREATE TABLE import (
    study_id       TEXT PRIMARY KEY REFERENCES study,
    imported_at_ns INTEGER NOT NULL
) STRICT;
