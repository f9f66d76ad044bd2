<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use InvalidArgumentException;
use PDO;
use PDOStatement;

/**
 * By PDO alone.
 */
final class PdoRows implements Rows
{
    private function __construct(private readonly PDO $pdo)
    {
    }

    /**
     * Connects; a persistent connection outlives the request, in a process that does.
     */
    public static function at(#[\SensitiveParameter] string $url, bool $persistent): self
    {
        // PHP takes an address without a host for none.
        $parts = parse_url(preg_replace('{^sqlite:///}', 'sqlite://file/', $url) ?? $url);
        $parts = is_array($parts) ? $parts : [];
        $host = $parts['host'] ?? '';
        $name = rawurldecode(substr($parts['path'] ?? '', 1));
        $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_PERSISTENT => $persistent];
        switch ($parts['scheme'] ?? '') {
            case 'pgsql':
            case 'postgres':
            case 'postgresql':
                $dsn = sprintf('pgsql:host=%s;port=%d;dbname=%s', $host, $parts['port'] ?? 5432, $name);
                // One round trip a query, as with MariaDB, for which PDO fills in the values itself.
                $options[PDO::PGSQL_ATTR_DISABLE_PREPARES] = true;
                break;
            case 'mysql':
            case 'mariadb':
                $dsn = sprintf('mysql:host=%s;port=%d;dbname=%s;charset=utf8mb4', $host, $parts['port'] ?? 3306, $name);
                break;
            case 'sqlite':
                $dsn = "sqlite:$name";
                break;
            default:
                throw new InvalidArgumentException('DATABASE_URL is none of pgsql://, mysql:// and sqlite:///');
        }
        $user = rawurldecode($parts['user'] ?? '');
        return new self(new PDO($dsn, $user, rawurldecode($parts['pass'] ?? ''), $options));
    }

    public function find(int $id): ?array
    {
        /** @var array{int|string, string, int|string}|false $row */
        $row = $this->query('SELECT id, name, number FROM records WHERE id = ?', $id)->fetch(PDO::FETCH_NUM);
        return is_array($row) ? ['id' => (int) $row[0], 'name' => $row[1], 'number' => (int) $row[2]] : null;
    }

    public function update(int $id, int $number): void
    {
        $this->query('UPDATE records SET number = ? WHERE id = ?', $number, $id);
    }

    private function query(string $sql, int ...$values): PDOStatement
    {
        $statement = $this->pdo->prepare($sql);
        $statement->execute($values);
        return $statement;
    }
}
