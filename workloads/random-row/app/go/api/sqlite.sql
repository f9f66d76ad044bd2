CREATE TABLE records (id integer PRIMARY KEY, name text NOT NULL, number integer NOT NULL);
INSERT INTO records
WITH RECURSIVE series (id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM series WHERE id < 100000)
SELECT id, 'record ' || id, id * 7919 % 10007 FROM series;
