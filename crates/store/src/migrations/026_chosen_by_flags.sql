-- What the flags of a study chose beside its workload; no row where they chose nothing.
CREATE TABLE chosen_by_flags (
    study_id       TEXT PRIMARY KEY REFERENCES study,
    exchanges_json TEXT NOT NULL,
    cookies        INTEGER NOT NULL,
    database       TEXT
) STRICT;
