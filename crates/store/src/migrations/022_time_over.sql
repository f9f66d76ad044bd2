-- When the time of a study was over, of one that ended for that: its last look is at its last complete block.
CREATE TABLE time_over (
    study_id        TEXT PRIMARY KEY REFERENCES study,
    time_over_at_ns INTEGER NOT NULL
) STRICT;
