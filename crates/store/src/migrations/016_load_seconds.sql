-- The seconds of a window as the load generator saw them: a list in JSON of {second, sent, ok, failed, response_p50_us,
-- response_p99_us}, one row a trial.

CREATE TABLE load_seconds (
    trial_id          INTEGER PRIMARY KEY REFERENCES measurement,
    load_seconds_json TEXT NOT NULL
) STRICT;
