<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PDO;
use PHPUnit\Framework\TestCase;

/**
 * The same rows from three databases through every layer, in PHP and in Go.
 */
final class RandomRowTest extends TestCase
{
    private const LAYERS = [
        'php' => ['pdo', 'pdo-persistent', 'dbal', 'orm', 'query-builder', 'eloquent'],
        'laravel' => ['query-builder', 'eloquent'],
        'go' => ['sql', 'gin'],
    ];

    /** @var array<string, DatabaseServer> */
    private static array $servers = [];

    public static function tearDownAfterClass(): void
    {
        self::$servers = [];
    }

    /**
     * @return iterable<string, array{string, string, string}>
     */
    public static function layers(): iterable
    {
        foreach (['pgsql', 'mysql', 'sqlite'] as $database) {
            foreach (self::LAYERS as $app => $layers) {
                foreach ($layers as $layer) {
                    yield "$database by $layer in $app" => [$database, $app, $layer];
                }
            }
        }
    }

    /**
     * @dataProvider layers
     */
    public function testEveryEndPoint(string $database, string $app, string $layer): void
    {
        $served = self::served($database, $app, $layer);
        foreach ([1 => 7919, 77 => 9343, 100_000 => 6062] as $id => $number) {
            $answer = $served->ask('GET', "/row/$id");
            self::assertSame(200, $answer->status, $served->log());
            self::assertStringStartsWith('application/json', $answer->headers['content-type']);
            self::assertSame("{\"id\":$id,\"name\":\"record $id\",\"number\":$number}", $answer->body);
        }
        foreach (['/row/0', '/row/100001', '/row/x', '/row/999999999', '/row/1000000000', '/row/1.0', '/'] as $target) {
            self::assertSame(404, $served->ask('GET', $target)->status, $target);
        }
        self::assertSame(405, $served->ask('PUT', '/row')->status);
        self::assertSame(405, $served->ask('POST', '/row/1')->status);
        $ids = [];
        for ($i = 0; $i < 8; $i++) {
            $row = $served->ask('GET', '/row')->json();
            self::assertIsArray($row);
            self::assertSame(['id', 'name', 'number'], array_keys($row));
            self::assertIsInt($row['id']);
            self::assertSame("record {$row['id']}", $row['name']);
            self::assertSame($row['id'] * 7919 % 10007, $row['number']);
            $ids[] = $row['id'];
        }
        // Eight of 100,000 are all the same once in 10^35 times.
        self::assertGreaterThan(1, count(array_unique($ids)));
        $changed = $served->ask('POST', '/row')->json();
        self::assertIsArray($changed);
        self::assertIsInt($changed['id']);
        self::assertSame(
            ['id' => $changed['id'], 'name' => "record {$changed['id']}", 'number' => $changed['number']],
            $served->ask('GET', "/row/{$changed['id']}")->json(),
        );
        if (isset(self::$servers[$database])) {
            self::restore(self::$servers[$database]->connect(), $changed['id']);
        }
    }

    /**
     * Each layer begins with the same rows: the one that was changed is as before, and all others never were another.
     */
    private static function restore(PDO $database, int $id): void
    {
        $database->exec("UPDATE records SET number = id * 7919 % 10007 WHERE id = $id");
        $counts = $database->query('SELECT count(*), count(CASE WHEN number <> id * 7919 % 10007 '
            . "OR name <> concat('record ', id) THEN 1 END) FROM records");
        self::assertNotFalse($counts);
        self::assertEquals([100_000, 0], $counts->fetch(PDO::FETCH_NUM));
    }

    private static function served(string $database, string $app, string $layer): ServedApp
    {
        $env = ['DATA_LAYER' => $layer];
        if ($database !== 'sqlite') {
            $server = self::$servers[$database] ?? null;
            if ($server === null) {
                $server = $database === 'pgsql' ? PostgresServer::start() : MariaDbServer::start();
                $schema = (string) file_get_contents(__DIR__ . "/../../workloads/random-row/schema/$database.sql");
                $server->connect()->exec($schema);
                self::$servers[$database] = $server;
            }
            $env['DATABASE_URL'] = $server->url();
        }
        if ($app === 'go') {
            $env['FRAMEWORK'] = $layer;
            return ServedApp::go('random-row/app/go', $env);
        }
        $folder = $app === 'laravel' ? 'Illuminate/Foundation' : match ($layer) {
            'dbal' => 'Doctrine/DBAL',
            'orm' => 'Doctrine/ORM',
            'query-builder', 'eloquent' => 'Illuminate/Database',
            default => 'data',
        };
        if (!is_dir("/usr/share/php/$folder")) {
            self::markTestSkipped("needs /usr/share/php/$folder "
                . '(Debian: php-laravel-framework, php-illuminate-database, php-doctrine-orm)');
        }
        return ServedApp::php("random-row/app/$app", $env, $database === 'sqlite' ? 'seed.php' : null);
    }
}
