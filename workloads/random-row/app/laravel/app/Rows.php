<?php

declare(strict_types=1);

namespace Stampede\RandomRow\Laravel;

/**
 * The table of records, whatever layer reads it.
 */
interface Rows
{
    /**
     * @return array{id: int, name: string, number: int}|null
     */
    public function find(int $id): ?array;

    /**
     * Gives a record another number.
     */
    public function update(int $id, int $number): void;
}
