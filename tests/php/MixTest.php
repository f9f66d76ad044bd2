<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PHPUnit\Framework\TestCase;

/**
 * Requests of every kind get the same answers from PHP and from Go.
 */
final class MixTest extends TestCase
{
    /** @var array<string, ServedApp> */
    private static array $apps = [];

    public static function tearDownAfterClass(): void
    {
        self::$apps = [];
    }

    /**
     * @return iterable<string, array{string, string, string, int, string}>
     */
    public static function requests(): iterable
    {
        foreach (['php', 'go'] as $app) {
            foreach (
                [
                    // OEIS A006880: there are 1,229 primes below 10,000.
                    ['GET', '/compute', 200, '{"primes":1229}'],
                    ['GET', '/allocate', 200, '{"records":20000,"bytes":1280000}'],
                    ['GET', '/wait', 200, '{"milliseconds":50}'],
                    ['GET', '/query', 200, '{"customers":10,"total":' . self::total() . '}'],
                    ['GET', '/query?a=b', 200, '{"customers":10,"total":' . self::total() . '}'],
                    ['GET', '/', 404, ''],
                    ['GET', '/query/', 404, ''],
                    ['POST', '/query', 405, ''],
                ] as [$method, $target, $status, $body]
            ) {
                yield "$app: $method $target" => [$app, $method, $target, $status, $body];
            }
        }
    }

    /**
     * @dataProvider requests
     */
    public function testAnswers(string $app, string $method, string $target, int $status, string $body): void
    {
        self::$apps[$app] ??= $app === 'go'
            ? ServedApp::go('mix/app/go')
            : ServedApp::php('mix/app/php', [], 'seed.php');
        $answer = self::$apps[$app]->ask($method, $target);
        self::assertSame([$status, $body], [$answer->status, $answer->body]);
        self::assertSame($body !== '', ($answer->headers['content-type'] ?? '') === 'application/json');
    }

    /**
     * @depends testAnswers
     */
    public function testWaitsForFiftyMilliseconds(): void
    {
        foreach (self::$apps as $app) {
            $began = hrtime(true);
            $app->ask('GET', '/wait');
            self::assertGreaterThanOrEqual(50, (hrtime(true) - $began) / 1e6);
        }
    }

    /**
     * What the ten best customers of the days 100 to 110 paid, added up without a database.
     */
    private static function total(): int
    {
        $totals = [];
        for ($payment = 10_000; $payment < 11_100; $payment++) {
            $customer = $payment * 7919 % 997;
            $totals[$customer] = ($totals[$customer] ?? 0) + $payment * 104729 % 10007;
        }
        rsort($totals);
        return array_sum(array_slice($totals, 0, 10));
    }
}
