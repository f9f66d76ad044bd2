CREATE TABLE payments (id integer PRIMARY KEY, day integer NOT NULL, customer integer NOT NULL, amount integer NOT NULL);
INSERT INTO payments
WITH RECURSIVE series (id) AS (VALUES (0) UNION ALL SELECT id + 1 FROM series WHERE id < 36499)
SELECT id, id / 100, id * 7919 % 997, id * 104729 % 10007 FROM series;
CREATE INDEX payments_day ON payments (day);
