-- Which application of its workload a case serves, and on which PHP.
CREATE TABLE case_application (
    study_id  TEXT NOT NULL,
    case_id   TEXT NOT NULL,
    app       TEXT NOT NULL,
    php_json  TEXT,                 -- NULL: it serves no PHP
    PRIMARY KEY (study_id, case_id),
    FOREIGN KEY (study_id, case_id) REFERENCES study_case (study_id, case_id)
) STRICT;

-- What the PHP that served a trial said of itself; no row where it was not asked.
CREATE TABLE trial_php (
    trial_id  INTEGER PRIMARY KEY REFERENCES trial,
    php_json  TEXT NOT NULL
) STRICT;
