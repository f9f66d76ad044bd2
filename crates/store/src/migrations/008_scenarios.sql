-- Loads of several kinds of request, and what they have made.

-- The loads of a scenario's other crowds, beside that of study_case: absent where there are none.
CREATE TABLE case_crowds (
    study_id   TEXT NOT NULL,
    case_id    TEXT NOT NULL,
    loads_json TEXT NOT NULL,
    PRIMARY KEY (study_id, case_id),
    FOREIGN KEY (study_id, case_id) REFERENCES study_case (study_id, case_id)
) STRICT;

-- What was measured of each step; none for a load of one kind of request.
CREATE TABLE step (
    trial_id          INTEGER NOT NULL REFERENCES measurement,
    ordinal           INTEGER NOT NULL,
    name              TEXT NOT NULL,
    sent              INTEGER NOT NULL,
    ok                INTEGER NOT NULL,
    failed            INTEGER NOT NULL,
    unfinished        INTEGER NOT NULL,
    unsent            INTEGER NOT NULL,
    service           BLOB NOT NULL,
    response          BLOB NOT NULL,
    censored          INTEGER NOT NULL,
    censored_least_ns INTEGER,
    status_json       TEXT NOT NULL,
    errors_json       TEXT NOT NULL,
    PRIMARY KEY (trial_id, ordinal)
) STRICT;

-- What the load of a trial had made; absent where nothing is audited.
CREATE TABLE audit (
    trial_id    INTEGER PRIMARY KEY REFERENCES trial,
    audits_json TEXT NOT NULL -- [{name, answered, unknown, told: [{by, before, after}]}]
) STRICT;
