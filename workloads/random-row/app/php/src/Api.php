<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use InvalidArgumentException;

/**
 * A random row, a row by its number, and a random row changed.
 */
final class Api
{
    private const ROWS = 100_000;

    private const MOST = 10_000;

    private ?Rows $rows = null;

    public function answer(string $method, string $path): Answer
    {
        if ($path === '/row') {
            return match ($method) {
                'GET', 'HEAD' => $this->show(mt_rand(1, self::ROWS)),
                'POST' => $this->change(mt_rand(1, self::ROWS), mt_rand(1, self::MOST)),
                default => new Answer(405),
            };
        }
        if (preg_match('{^/row/([1-9]\d{0,8})$}D', $path, $parts) === 1) {
            return $method === 'GET' || $method === 'HEAD' ? $this->show((int) $parts[1]) : new Answer(405);
        }
        return new Answer(404);
    }

    private function show(int $id): Answer
    {
        $row = $this->rows()->find($id);
        return $row === null ? new Answer(404) : new Answer(200, $row);
    }

    private function change(int $id, int $number): Answer
    {
        $this->rows()->update($id, $number);
        return new Answer(200, ['id' => $id, 'number' => $number]);
    }

    private function rows(): Rows
    {
        return $this->rows ??= self::layer((string) getenv('DATA_LAYER'), (string) getenv('DATABASE_URL'));
    }

    private static function layer(string $name, #[\SensitiveParameter] string $url): Rows
    {
        $url = $url === '' ? 'sqlite:///' . dirname(__DIR__) . '/database.sqlite' : $url;
        return match ($name) {
            '', 'pdo' => PdoRows::at($url, false),
            'pdo-persistent' => PdoRows::at($url, true),
            'dbal' => new DbalRows(DoctrineUrl::connect($url)),
            'orm' => new OrmRows(DoctrineUrl::connect($url)),
            'query-builder' => new QueryBuilderRows(IlluminateUrl::connect($url)),
            'eloquent' => new EloquentRows(IlluminateUrl::connect($url)),
            default => throw new InvalidArgumentException(
                'DATA_LAYER is none of pdo, pdo-persistent, dbal, orm, query-builder and eloquent',
            ),
        };
    }
}
