<?php

declare(strict_types=1);

namespace Stampede\RandomRow\Laravel;

use Illuminate\Http\JsonResponse;
use Illuminate\Http\Response;

/**
 * A random row, a row by its number, and a random row changed.
 */
final class RowController
{
    private const ROWS = 100_000;

    private const MOST = 10_000;

    public function __construct(private readonly Rows $rows)
    {
    }

    public function random(): Response|JsonResponse
    {
        return $this->show(mt_rand(1, self::ROWS));
    }

    public function show(int $id): Response|JsonResponse
    {
        $row = $this->rows->find($id);
        return $row === null ? new Response('', 404) : new JsonResponse($row);
    }

    public function change(): JsonResponse
    {
        $changed = ['id' => mt_rand(1, self::ROWS), 'number' => mt_rand(1, self::MOST)];
        $this->rows->update($changed['id'], $changed['number']);
        return new JsonResponse($changed);
    }
}
