<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

/**
 * By a model.
 */
final class EloquentRows implements Rows
{
    public function find(int $id): ?array
    {
        $record = Record::query()->find($id);
        return $record === null
            ? null
            : ['id' => $record->id, 'name' => $record->name, 'number' => $record->number];
    }

    public function update(int $id, int $number): void
    {
        Record::query()->find($id)?->update(['number' => $number]);
    }
}
