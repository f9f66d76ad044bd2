-- What a web server showed of a case's application: its public folder, and who answered the rest. Absent where it had none.
CREATE TABLE case_site (
    study_id  TEXT NOT NULL,
    case_id   TEXT NOT NULL,
    site_json TEXT NOT NULL, -- {root, files, fallback, denied, htaccess}
    PRIMARY KEY (study_id, case_id),
    FOREIGN KEY (study_id, case_id) REFERENCES study_case (study_id, case_id)
) STRICT;
