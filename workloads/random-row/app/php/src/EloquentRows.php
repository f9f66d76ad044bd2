<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use Illuminate\Database\Connection;
use Illuminate\Database\ConnectionResolver;

/**
 * By a model of Laravel's.
 */
final class EloquentRows implements Rows
{
    public function __construct(Connection $connection)
    {
        $connections = new ConnectionResolver(['default' => $connection]);
        $connections->setDefaultConnection('default');
        EloquentRecord::setConnectionResolver($connections);
    }

    public function find(int $id): ?array
    {
        $record = self::record($id);
        return $record === null
            ? null
            : ['id' => $record->id, 'name' => $record->name, 'number' => $record->number];
    }

    public function update(int $id, int $number): void
    {
        self::record($id)?->update(['number' => $number]);
    }

    private static function record(int $id): ?EloquentRecord
    {
        /** @var EloquentRecord|null $record */
        $record = EloquentRecord::query()->find($id);
        return $record;
    }
}
