-- What was seen of PHP's stacks in a window, where they were sampled: an object in JSON, one row a trial.
CREATE TABLE inside (
    trial_id    INTEGER PRIMARY KEY REFERENCES measurement,
    inside_json TEXT NOT NULL
) STRICT;
