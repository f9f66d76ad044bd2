<?php

declare(strict_types=1);

namespace Stampede\Mix;

use PDO;

/**
 * A request of each kind that an application has.
 */
final class Api
{
    private ?PDO $database = null;

    /**
     * @param string $file the SQLite database
     */
    public function __construct(private readonly string $file)
    {
    }

    public function answer(string $method, string $path): Answer
    {
        if (!in_array($path, ['/compute', '/allocate', '/wait', '/query'], true)) {
            return new Answer(404);
        }
        if ($method !== 'GET' && $method !== 'HEAD') {
            return new Answer(405);
        }
        return new Answer(200, match ($path) {
            '/compute' => $this->compute(),
            '/allocate' => $this->allocate(),
            '/wait' => $this->wait(),
            '/query' => $this->query(),
        });
    }

    /**
     * Counts the primes below 10,000 by dividing: a few milliseconds of nothing but arithmetic, in no memory.
     *
     * @return array{primes: int}
     */
    private function compute(): array
    {
        $primes = 1;
        for ($number = 3; $number < 10_000; $number += 2) {
            $divisor = 3;
            while ($divisor * $divisor <= $number && $number % $divisor !== 0) {
                $divisor += 2;
            }
            $primes += $divisor * $divisor > $number ? 1 : 0;
        }
        return ['primes' => $primes];
    }

    /**
     * Makes 20,000 records, keeps them all (some 10 MB) and adds them up.
     *
     * @return array{records: int, bytes: int}
     */
    private function allocate(): array
    {
        $records = [];
        for ($id = 0; $id < 20_000; $id++) {
            $records[] = ['id' => $id, 'text' => str_repeat(chr(ord('a') + $id % 26), 64)];
        }
        $bytes = 0;
        foreach ($records as $record) {
            $bytes += strlen($record['text']);
        }
        return ['records' => count($records), 'bytes' => $bytes];
    }

    /**
     * Waits 50 ms, as for a remote service.
     *
     * @return array{milliseconds: int}
     */
    private function wait(): array
    {
        usleep(50_000);
        return ['milliseconds' => 50];
    }

    /**
     * Asks for the ten customers who paid the most.
     *
     * @return array{customers: int, total: int}
     */
    private function query(): array
    {
        $this->database ??= new PDO("sqlite:$this->file");
        $statement = $this->database->query(
            'SELECT customer, sum(amount) AS total FROM payments WHERE day BETWEEN 100 AND 110
             GROUP BY customer ORDER BY total DESC, customer LIMIT 10'
        );
        $total = 0;
        /** @var list<array{int|string, int|string}> $rows */
        $rows = $statement === false ? [] : $statement->fetchAll(PDO::FETCH_NUM);
        foreach ($rows as $row) {
            $total += (int) $row[1];
        }
        return ['customers' => count($rows), 'total' => $total];
    }
}
