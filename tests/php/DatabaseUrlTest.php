<?php

declare(strict_types=1);

namespace Stampede\Tests;

use InvalidArgumentException;
use PHPUnit\Framework\TestCase;
use Stampede\Rinha\DatabaseUrl;

require_once __DIR__ . '/../../workloads/rinha/app/php/src/DatabaseUrl.php';

/**
 * Addresses of databases, as they come by the environment.
 */
final class DatabaseUrlTest extends TestCase
{
    /**
     * @return array<string, array{string, list<int|string>}>
     */
    public static function addresses(): array
    {
        return [
            'all parts' => ['pgsql://u:p@db:6432/n', ['db', 6432, 'n', 'u', 'p']],
            'another scheme' => ['postgresql://u:p@db/n', ['db', 5432, 'n', 'u', 'p']],
            'escaped' => ['postgres://u%40x:p%2F%3A@db:1/n%20m', ['db', 1, 'n m', 'u@x', 'p/:']],
            'with parameters' => ['pgsql://u@db/n?sslmode=disable', ['db', 5432, 'n', 'u', '']],
            'IPv6' => ['pgsql://u:p@[::1]:5432/n', ['::1', 5432, 'n', 'u', 'p']],
        ];
    }

    /**
     * @dataProvider addresses
     *
     * @param list<int|string> $parts
     */
    public function testIsRead(string $address, array $parts): void
    {
        $url = DatabaseUrl::parse($address);
        self::assertSame($parts, [$url->host, $url->port, $url->name, $url->user, $url->password]);
    }

    public function testOthersAreRefused(): void
    {
        foreach (['', 'mysql://u:p@db/n', 'n', 'pgsql://'] as $address) {
            try {
                DatabaseUrl::parse($address);
                self::fail("$address was read");
            } catch (InvalidArgumentException $error) {
                self::assertStringContainsString('DATABASE_URL', $error->getMessage());
            }
        }
    }
}
