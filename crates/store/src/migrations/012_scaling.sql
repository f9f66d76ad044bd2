-- What the instances of an autoscaled service did, one row a trial: what it was given and each of its instances in JSON, how
-- long requests waited as a histogram.

CREATE TABLE scaling (
    trial_id     INTEGER PRIMARY KEY REFERENCES trial,
    service_json TEXT NOT NULL,
    opens_ns     INTEGER NOT NULL,
    closes_ns    INTEGER NOT NULL,
    lives_json   TEXT NOT NULL,
    waits        BLOB NOT NULL,
    most_waiting INTEGER NOT NULL,
    rejected     INTEGER NOT NULL,
    usage_json   TEXT NOT NULL,
    gateway_json TEXT NOT NULL
) STRICT;
