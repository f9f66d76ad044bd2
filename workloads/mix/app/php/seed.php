<?php

declare(strict_types=1);

// Makes database.sqlite beside this file: 36,500 payments, a hundred a day.

$database = new PDO('sqlite:' . __DIR__ . '/database.sqlite');
$database->exec(<<<'SQL'
    DROP TABLE IF EXISTS payments;
    CREATE TABLE payments (
        id integer PRIMARY KEY, day integer NOT NULL, customer integer NOT NULL, amount integer NOT NULL
    );
    INSERT INTO payments
    WITH RECURSIVE series (id) AS (VALUES (0) UNION ALL SELECT id + 1 FROM series WHERE id < 36499)
    SELECT id, id / 100, id * 7919 % 997, id * 104729 % 10007 FROM series;
    CREATE INDEX payments_day ON payments (day);
    SQL);
