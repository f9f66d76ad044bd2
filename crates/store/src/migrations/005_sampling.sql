-- What was sampled while a trial was measured, one row a trial. The columns of a series are lists in JSON: a trial of 10 s
-- takes some 10 KiB, which is little beside what it costs to read a form that json_each does not know.

CREATE TABLE sampling (
    trial_id        INTEGER PRIMARY KEY REFERENCES measurement,
    sampling_cpu_ns INTEGER NOT NULL, -- of the sampler, on the generator's cores
    series_json     TEXT NOT NULL     -- [{source, at_us: [...], columns: {gauge: [... or null]}}]; at_us since the window opened
) STRICT;
