-- 100,000 records, for MariaDB; begins anew each time.
DROP TABLE IF EXISTS records;
CREATE TABLE records (id integer PRIMARY KEY, name varchar(32) NOT NULL, number integer NOT NULL) ENGINE = InnoDB;
-- https://mariadb.com/kb/en/sequence-storage-engine/
INSERT INTO records SELECT seq, concat('record ', seq), seq * 7919 % 10007 FROM seq_1_to_100000;
