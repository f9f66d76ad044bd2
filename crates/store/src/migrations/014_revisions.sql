-- Which state of its application a case served, where the application's folder is kept in git.
CREATE TABLE case_revision (
    study_id  TEXT NOT NULL,
    case_id   TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    is_dirty  INTEGER NOT NULL,
    PRIMARY KEY (study_id, case_id),
    FOREIGN KEY (study_id, case_id) REFERENCES study_case (study_id, case_id)
) STRICT;
