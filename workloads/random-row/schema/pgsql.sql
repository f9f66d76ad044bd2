-- 100,000 records; begins anew each time.
DROP TABLE IF EXISTS records;
CREATE TABLE records (id integer PRIMARY KEY, name varchar(32) NOT NULL, number integer NOT NULL);
INSERT INTO records SELECT id, 'record ' || id, id * 7919 % 10007 FROM generate_series(1, 100000) AS series (id);
ANALYZE records;
