<?php

declare(strict_types=1);

namespace Stampede\TenQueries;

use PDO;

/**
 * Adds up ten numbers, each of which its database is asked for.
 */
final class Api
{
    private const QUERIES = 10;

    private const DEFAULT_WAIT = 2;

    /** How long the database takes over each answer, in seconds. */
    private readonly float $wait;

    public function __construct(private readonly Pool $pool)
    {
        $wait = getenv('QUERY_WAIT');
        $this->wait = (is_numeric($wait) ? (float) $wait : self::DEFAULT_WAIT) / 1000;
    }

    public function answer(string $method, string $path): Answer
    {
        if ($path !== '/') {
            return new Answer(404);
        }
        if ($method !== 'GET' && $method !== 'HEAD') {
            return new Answer(405);
        }
        $connection = $this->pool->take();
        $sum = 0;
        for ($id = 1; $id <= self::QUERIES; $id++) {
            $sum += $this->number($connection, $id);
        }
        // One whose query failed is not given back.
        $this->pool->put($connection);
        return new Answer(200, ['queries' => self::QUERIES, 'sum' => $sum]);
    }

    private function number(PDO $connection, int $id): int
    {
        $statement = $connection->prepare('SELECT number, SLEEP(?) FROM records WHERE id = ?');
        $statement->execute([$this->wait, $id]);
        return (int) $statement->fetchColumn();
    }
}
