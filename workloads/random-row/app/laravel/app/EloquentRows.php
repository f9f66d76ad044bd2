<?php

declare(strict_types=1);

namespace Stampede\RandomRow\Laravel;

/**
 * By a model.
 */
final class EloquentRows implements Rows
{
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

    private static function record(int $id): ?Record
    {
        /** @var Record|null $record */
        $record = Record::query()->find($id);
        return $record;
    }
}
