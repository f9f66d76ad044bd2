-- From which block on a study that was to be measured in turns was measured in windows, and why.
CREATE TABLE windows_from (
    study_id TEXT PRIMARY KEY REFERENCES study,
    block    INTEGER NOT NULL,
    why      TEXT NOT NULL
) STRICT;
