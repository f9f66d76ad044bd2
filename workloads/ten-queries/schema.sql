-- Ten records; begins anew each time.
DROP TABLE IF EXISTS records;
CREATE TABLE records (id integer PRIMARY KEY, number integer NOT NULL) ENGINE = InnoDB;
-- https://mariadb.com/kb/en/sequence-storage-engine/
INSERT INTO records SELECT seq, seq * 7919 % 10007 FROM seq_1_to_10;
