-- Studies whose rounds are found out: `rounds` is 0 and they have a time instead.

ALTER TABLE study ADD COLUMN max_time_ns INTEGER;
ALTER TABLE study ADD COLUMN precision REAL NOT NULL DEFAULT 0.03; -- a share
