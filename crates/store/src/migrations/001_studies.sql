-- Studies, their cases and their trials. Rows are added and never changed: the end of a study is a row of its own.
-- Times are nanoseconds (instants: since 1970 in UTC), memory is bytes, CPU limits are thousandths of a core.
-- JSON holds only open maps and nested lists.

CREATE TABLE study (
    study_id         TEXT PRIMARY KEY,
    kind             TEXT NOT NULL,
    workload         TEXT NOT NULL,
    seed             TEXT NOT NULL, -- decimal: 64 bits without a sign do not fit an INTEGER
    rounds           INTEGER NOT NULL,
    warm_up_ns       INTEGER NOT NULL,
    duration_ns      INTEGER NOT NULL,
    started_at_ns    INTEGER NOT NULL,
    stampede_version TEXT NOT NULL,
    machine_cpus     INTEGER NOT NULL,
    cpu_model        TEXT NOT NULL,
    kernel           TEXT NOT NULL,
    cgroup           TEXT NOT NULL
) STRICT;

CREATE TABLE study_end (
    study_id       TEXT PRIMARY KEY REFERENCES study,
    finished_at_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE study_case (
    study_id            TEXT NOT NULL REFERENCES study,
    ordinal             INTEGER NOT NULL,
    case_id             TEXT NOT NULL,
    runtime             TEXT NOT NULL,
    runtime_version     TEXT NOT NULL,
    tuning_json         TEXT NOT NULL,
    limit_cpus_milli    INTEGER NOT NULL,
    limit_memory_bytes  INTEGER NOT NULL,
    platform            TEXT NOT NULL,
    pinning_json        TEXT NOT NULL,
    load_json           TEXT NOT NULL,
    PRIMARY KEY (study_id, ordinal),
    UNIQUE (study_id, case_id)
) STRICT;

CREATE TABLE trial (
    trial_id              INTEGER PRIMARY KEY,
    study_id              TEXT NOT NULL,
    case_id               TEXT NOT NULL,
    block                 INTEGER NOT NULL,
    position              INTEGER NOT NULL,
    started_at_ns         INTEGER NOT NULL,
    outcome               TEXT NOT NULL CHECK (outcome IN ('measured', 'invalid', 'failed')),
    reason                TEXT,             -- unless measured
    enforced_period_ns    INTEGER,          -- NULL: limits were not read back
    enforced_cpus_milli   INTEGER,          -- NULL beside a period: unlimited
    enforced_memory_bytes INTEGER,          -- NULL beside a period: unlimited
    ready_took_ns         INTEGER,          -- NULL: never became ready
    ready_attempts        INTEGER,
    answers_json          TEXT NOT NULL,
    stops_json            TEXT NOT NULL,
    UNIQUE (study_id, block, case_id),
    FOREIGN KEY (study_id, case_id) REFERENCES study_case (study_id, case_id)
) STRICT;

-- What a trial measured; a trial that failed before its window closed has no row.
CREATE TABLE measurement (
    trial_id           INTEGER PRIMARY KEY REFERENCES trial,
    window_ns          INTEGER NOT NULL,
    sent               INTEGER NOT NULL,
    ok                 INTEGER NOT NULL,
    failed             INTEGER NOT NULL,
    unfinished         INTEGER NOT NULL,
    warm_up_sent       INTEGER NOT NULL,
    warm_up_ok         INTEGER NOT NULL,
    warm_up_failed     INTEGER NOT NULL,
    warm_up_unfinished INTEGER NOT NULL,
    reconnects         INTEGER NOT NULL,
    service            BLOB NOT NULL,       -- HdrHistogram V2, compressed; nanoseconds
    response           BLOB NOT NULL,       -- the same
    status_json        TEXT NOT NULL,
    errors_json        TEXT NOT NULL,
    bytes_sent         INTEGER NOT NULL,
    bytes_received     INTEGER NOT NULL,
    between_ns         INTEGER,             -- between the two readings of the counters below; these are NULL where nothing counts
    cpu_ns             INTEGER,
    periods            INTEGER,
    throttled_periods  INTEGER,
    throttled_ns       INTEGER,
    memory_peak_bytes  INTEGER,
    cache_peak_bytes   INTEGER,
    oom_kills          INTEGER,
    generator_threads  INTEGER NOT NULL,
    generator_cpu_ns   INTEGER NOT NULL
) STRICT;
