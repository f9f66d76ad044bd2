-- The seconds of a window, counted beside an objective: a list in JSON of {ended, beyond: [by term]}, one row a trial.

CREATE TABLE slo_seconds (
    trial_id     INTEGER PRIMARY KEY REFERENCES measurement,
    seconds_json TEXT NOT NULL
) STRICT;
