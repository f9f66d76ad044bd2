<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use Illuminate\Database\ConnectionInterface;

/**
 * By Laravel's query builder.
 */
final class QueryBuilderRows implements Rows
{
    public function __construct(private readonly ConnectionInterface $connection)
    {
    }

    public function find(int $id): ?array
    {
        /** @var object{id: int|string, name: string, number: int|string}|null $row */
        $row = $this->connection->table('records')->where('id', $id)->first();
        return $row === null ? null : ['id' => (int) $row->id, 'name' => $row->name, 'number' => (int) $row->number];
    }

    public function update(int $id, int $number): void
    {
        $this->connection->table('records')->where('id', $id)->update(['number' => $number]);
    }
}
