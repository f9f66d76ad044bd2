<?php

declare(strict_types=1);

namespace Stampede\TenQueries;

use PDO;

/**
 * Connections to the database that nobody uses. A request takes one, or makes one where there is none: requests that a process
 * works on side by side never share one.
 */
final class Pool
{
    /** @var list<PDO> */
    private array $free = [];

    /**
     * @param string $url `mysql://user:password@host:port/name`
     */
    public function __construct(#[\SensitiveParameter] private readonly string $url)
    {
    }

    public function take(): PDO
    {
        return array_pop($this->free) ?? $this->connect();
    }

    public function put(PDO $connection): void
    {
        $this->free[] = $connection;
    }

    private function connect(): PDO
    {
        $parts = parse_url($this->url);
        $parts = is_array($parts) ? $parts : [];
        $name = rawurldecode(substr($parts['path'] ?? '', 1));
        $dsn = sprintf('mysql:host=%s;port=%d;dbname=%s', $parts['host'] ?? '', $parts['port'] ?? 3306, $name);
        $user = rawurldecode($parts['user'] ?? '');
        $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
        return new PDO($dsn, $user, rawurldecode($parts['pass'] ?? ''), $options);
    }
}
