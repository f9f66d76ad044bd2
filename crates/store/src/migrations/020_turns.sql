-- How the cases of a block were measured: one after the other, as they all were before, or in turns.
ALTER TABLE study ADD COLUMN block_order TEXT NOT NULL DEFAULT 'windows'; -- windows, turns

-- The turns that a window was cut into: a list in JSON of {at, window, ok, cpu, periods, stolen}, one row a trial.
CREATE TABLE turns (
    trial_id   INTEGER PRIMARY KEY REFERENCES measurement,
    turns_json TEXT NOT NULL
) STRICT;
