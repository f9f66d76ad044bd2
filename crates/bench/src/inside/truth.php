<?php

// A program whose shares are known: the same loop, six and three times as often here as there, so that no clock is needed;
// and waits that it measures itself, by the scheduler's counters of its own thread.

declare(strict_types=1);

namespace Truth;

function six(): int
{
    for ($i = 0, $x = 1; $i < 180_000; $i++) {
        $x = ($x * 31 + $i) % 1_000_003;
    }

    return $x;
}

final class Work
{
    public static function three(): int
    {
        for ($i = 0, $x = 1; $i < 90_000; $i++) {
            $x = ($x * 31 + $i) % 1_000_003;
        }

        return $x;
    }

    public function all(): int
    {
        $one = static function (): int {
            for ($i = 0, $x = 1; $i < 30_000; $i++) {
                $x = ($x * 31 + $i) % 1_000_003;
            }

            return $x;
        };

        return six() + self::three() + $one();
    }
}

function nap(): void
{
    \usleep(4_000);
}

/** @param resource $file */
function lock($file): void
{
    \flock($file, \LOCK_EX);
}

/** @param resource $file */
function hold($file): void
{
    \usleep(2_000);
    \flock($file, \LOCK_UN);
}

function postgres(\PDO $database): void
{
    $database->query('SELECT pg_sleep(0.005)')->fetchAll();
}

function mariadb(\PDO $database): void
{
    $database->query('SELECT SLEEP(0.003)')->fetchAll();
}

/**
 * The time that this thread neither ran nor was ready, in nanoseconds: a clock that stands still but for waits. A short sleep makes
 * the scheduler count until now; a reading in which the thread had to stop is made again.
 */
function waiting(): int
{
    \usleep(100);
    do {
        $from = \hrtime(true);
        [$ran, $ready] = \explode(' ', \file_get_contents('/proc/thread-self/schedstat'));
        $until = \hrtime(true);
    } while ($until - $from > 200_000);

    return $until - (int) $ran - (int) $ready;
}

/** @param array<string, int> $waited */
function note(array &$waited, string $name, callable $wait): void
{
    $from = waiting();
    $wait();
    $until = waiting();
    // What a reading waits itself is not part of it.
    $waited[$name] = 2 * $until - $from - waiting();
}

/** Does it all once. Each worker keeps its connections. */
function answer(): string
{
    static $file, $postgres, $mariadb;
    $file ??= \fopen(\getenv('TRUTH') . '/lock', 'c');
    if (\getenv('PGHOST') !== false) {
        $postgres ??= new \PDO(
            \sprintf('pgsql:host=%s;port=%s;dbname=%s', \getenv('PGHOST'), \getenv('PGPORT'), \getenv('PGDATABASE')),
            \getenv('PGUSER'),
            \getenv('PGPASSWORD'),
            [\PDO::ATTR_PERSISTENT => true],
        );
    }
    $mariadb ??= new \PDO(
        \sprintf('mysql:host=%s;port=%s;dbname=%s', \getenv('MYSQL_HOST'), \getenv('MYSQL_PORT'), \getenv('MYSQL_DATABASE')),
        \getenv('MYSQL_USER'),
        \getenv('MYSQL_PASSWORD'),
        [\PDO::ATTR_PERSISTENT => true],
    );
    (new Work())->all();
    $waited = [];
    note($waited, 'nap', fn () => nap());
    note($waited, 'lock', fn () => lock($file));
    hold($file);
    if ($postgres !== null) {
        note($waited, 'postgres', fn () => postgres($postgres));
    }
    note($waited, 'mariadb', fn () => mariadb($mariadb));
    \file_put_contents(\getenv('TRUTH') . '/waited', \json_encode($waited) . "\n", \FILE_APPEND);

    return "done\n";
}
