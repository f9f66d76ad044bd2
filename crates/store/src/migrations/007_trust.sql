-- What was found out before a study's first block, when it was gone on with, and what its yard-stick showed.

ALTER TABLE study ADD COLUMN groundwork_json TEXT NOT NULL DEFAULT '{}';

CREATE TABLE resumption (
    study_id      TEXT NOT NULL REFERENCES study,
    resumed_at_ns INTEGER NOT NULL,
    PRIMARY KEY (study_id, resumed_at_ns)
) STRICT;

-- A block that was interrupted and gone on with has two readings.
CREATE TABLE yard_stick (
    reading_id    INTEGER PRIMARY KEY,
    study_id      TEXT NOT NULL REFERENCES study,
    block         INTEGER NOT NULL,
    started_at_ns INTEGER NOT NULL,
    outcome       TEXT NOT NULL CHECK (outcome IN ('measured', 'invalid', 'failed')),
    reason        TEXT,    -- unless measured
    window_ns     INTEGER, -- NULL: nothing was counted
    ok            INTEGER,
    between_ns    INTEGER, -- NULL: nothing counts CPU time
    cpu_ns        INTEGER
) STRICT;
