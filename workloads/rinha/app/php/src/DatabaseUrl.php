<?php

declare(strict_types=1);

namespace Stampede\Rinha;

use InvalidArgumentException;

/**
 * The address of a database: `pgsql://user:password@host:port/name`.
 */
final class DatabaseUrl
{
    private function __construct(
        public readonly string $host,
        public readonly int $port,
        public readonly string $name,
        public readonly string $user,
        #[\SensitiveParameter] public readonly string $password,
    ) {
    }

    public static function parse(#[\SensitiveParameter] string $url): self
    {
        $parts = parse_url($url);
        if ($parts === false || !in_array($parts['scheme'] ?? '', ['pgsql', 'postgres', 'postgresql'], true)) {
            throw new InvalidArgumentException('DATABASE_URL is not of the form pgsql://user:password@host:port/name');
        }
        return new self(
            trim($parts['host'] ?? '127.0.0.1', '[]'),
            $parts['port'] ?? 5432,
            rawurldecode(ltrim($parts['path'] ?? '', '/')),
            rawurldecode($parts['user'] ?? ''),
            rawurldecode($parts['pass'] ?? ''),
        );
    }
}
