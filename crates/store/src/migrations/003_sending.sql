-- How the generator sent what a trial measured. Trials of before have no row.
CREATE TABLE sending (
    trial_id          INTEGER PRIMARY KEY REFERENCES measurement,
    backend           TEXT NOT NULL,
    unsent            INTEGER NOT NULL, -- due and never begun
    censored          INTEGER NOT NULL, -- without an end: they are in measurement.response at their age
    censored_least_ns INTEGER,          -- the smallest of their ages; NULL where there is none
    lateness          BLOB NOT NULL     -- as measurement.response: the generator's own delay
) STRICT;
