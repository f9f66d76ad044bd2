<?php

declare(strict_types=1);

// Makes database.sqlite beside this file, with 100,000 records.

$database = new PDO('sqlite:' . __DIR__ . '/database.sqlite');
$database->exec(<<<'SQL'
    DROP TABLE IF EXISTS records;
    CREATE TABLE records (id integer PRIMARY KEY, name text NOT NULL, number integer NOT NULL);
    INSERT INTO records
    WITH RECURSIVE series (id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM series WHERE id < 100000)
    SELECT id, 'record ' || id, id * 7919 % 10007 FROM series;
    SQL);
