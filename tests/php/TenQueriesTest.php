<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PHPUnit\Framework\TestCase;

/**
 * Ten numbers from a real database, each after its wait.
 */
final class TenQueriesTest extends TestCase
{
    private static ?MariaDbServer $server = null;

    public static function tearDownAfterClass(): void
    {
        self::$server = null;
    }

    /**
     * @return iterable<string, array{string, string, int, string}>
     */
    public static function requests(): iterable
    {
        $numbers = array_map(static fn (int $id): int => $id * 7919 % 10007, range(1, 10));
        $sum = '{"queries":10,"sum":' . array_sum($numbers) . '}';
        yield 'the sum' => ['GET', '/', 200, $sum];
        yield 'with a query' => ['GET', '/?a=b', 200, $sum];
        yield 'elsewhere' => ['GET', '/elsewhere', 404, ''];
        yield 'another method' => ['POST', '/', 405, ''];
    }

    /**
     * @dataProvider requests
     */
    public function testAnswers(string $method, string $target, int $status, string $body): void
    {
        $answer = self::served('0')->ask($method, $target);
        self::assertSame([$status, $body], [$answer->status, $answer->body]);
    }

    public function testTakesTenTimesTheWaitOfAQuery(): void
    {
        $app = self::served('20');
        $began = hrtime(true);
        $app->ask('GET', '/');
        self::assertGreaterThanOrEqual(200, (hrtime(true) - $began) / 1e6);
    }

    private static function served(string $wait): ServedApp
    {
        if (self::$server === null) {
            self::$server = MariaDbServer::start();
            $schema = (string) file_get_contents(__DIR__ . '/../../workloads/ten-queries/schema.sql');
            self::$server->connect()->exec($schema);
        }
        return ServedApp::php('ten-queries/app/php', ['DATABASE_URL' => self::$server->url(), 'QUERY_WAIT' => $wait]);
    }
}
