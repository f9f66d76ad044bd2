<?php

declare(strict_types=1);

namespace Stampede\RandomRow\Laravel;

use Illuminate\Support\Facades\DB;

/**
 * By Laravel's query builder.
 */
final class QueryBuilderRows implements Rows
{
    public function find(int $id): ?array
    {
        /** @var object{id: int|string, name: string, number: int|string}|null $row */
        $row = DB::table('records')->where('id', $id)->first();
        return $row === null ? null : ['id' => (int) $row->id, 'name' => $row->name, 'number' => (int) $row->number];
    }

    public function update(int $id, int $number): void
    {
        DB::table('records')->where('id', $id)->update(['number' => $number]);
    }
}
