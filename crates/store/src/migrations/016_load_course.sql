-- What the generator saw in each second of a window: lists in JSON, one row a trial.

CREATE TABLE load_course (
    trial_id    INTEGER PRIMARY KEY REFERENCES measurement,
    course_json TEXT NOT NULL
) STRICT;
