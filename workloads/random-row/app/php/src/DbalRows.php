<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use Doctrine\DBAL\Connection;

/**
 * By Doctrine's database abstraction layer.
 */
final class DbalRows implements Rows
{
    public function __construct(private readonly Connection $connection)
    {
    }

    public function find(int $id): ?array
    {
        /** @var array{int|string, string, int|string}|false $row */
        $row = $this->connection->fetchNumeric('SELECT id, name, number FROM records WHERE id = ?', [$id]);
        return $row === false ? null : ['id' => (int) $row[0], 'name' => $row[1], 'number' => (int) $row[2]];
    }

    public function update(int $id, int $number): void
    {
        $this->connection->update('records', ['number' => $number], ['id' => $id]);
    }
}
