-- How the errors of a study's ratios are found, so that it is judged later as it was. Absent: from the ratios of each pair alone.
CREATE TABLE study_errors (
    study_id TEXT PRIMARY KEY REFERENCES study,
    errors   TEXT NOT NULL -- all_cases
) STRICT;
