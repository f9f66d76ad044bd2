<?php

declare(strict_types=1);

namespace Stampede\Rinha;

use PDO;
use PDOStatement;

/**
 * The people in the database.
 */
final class People
{
    private function __construct(private readonly PDO $pdo)
    {
    }

    /**
     * Connects. A persistent connection outlives the request, in a process that does.
     */
    public static function at(DatabaseUrl $url, bool $persistent): self
    {
        return new self(new PDO(
            "pgsql:host=$url->host;port=$url->port;dbname=$url->name",
            $url->user,
            $url->password,
            [
                PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
                PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
                PDO::ATTR_PERSISTENT => $persistent,
                // One round trip a query, and none of them leaves a statement behind in a pooled connection.
                PDO::PGSQL_ATTR_DISABLE_PREPARES => true,
            ],
        ));
    }

    /**
     * The new person's id, or null when the nickname is taken.
     */
    public function add(Person $person): ?string
    {
        $id = $this->query(
            'INSERT INTO pessoas (apelido, nome, nascimento, stack) VALUES (?, ?, ?, ?)
             ON CONFLICT (apelido) DO NOTHING RETURNING id',
            $person->nickname,
            $person->name,
            $person->born,
            $person->stack === null ? null : json_encode($person->stack, JSON_THROW_ON_ERROR),
        )->fetchColumn();
        return is_string($id) ? $id : null;
    }

    /**
     * @return array<string, mixed>|null
     */
    public function find(string $id): ?array
    {
        /** @var array{id: string, apelido: string, nome: string, nascimento: string, stack: string|null}|false $row */
        $row = $this->query('SELECT id, apelido, nome, nascimento, stack FROM pessoas WHERE id = ?', $id)->fetch();
        return $row === false ? null : self::decoded($row);
    }

    /**
     * At most fifty people who have the term in their nickname, name or stack.
     *
     * @return list<array<string, mixed>>
     */
    public function search(string $term): array
    {
        /** @var list<array{id: string, apelido: string, nome: string, nascimento: string, stack: string|null}> $rows */
        $rows = $this->query(
            'SELECT id, apelido, nome, nascimento, stack FROM pessoas
             WHERE busca LIKE lower(? COLLATE "und-x-icu") LIMIT 50',
            '%' . addcslashes($term, '\\%_') . '%',
        )->fetchAll();
        return array_map(self::decoded(...), $rows);
    }

    public function count(): int
    {
        return (int) $this->query('SELECT count(*) FROM pessoas')->fetchColumn();
    }

    private function query(string $sql, ?string ...$values): PDOStatement
    {
        $statement = $this->pdo->prepare($sql);
        $statement->execute($values);
        return $statement;
    }

    /**
     * @param array{id: string, apelido: string, nome: string, nascimento: string, stack: string|null} $row
     *
     * @return array<string, mixed>
     */
    private static function decoded(array $row): array
    {
        $stack = $row['stack'];
        $row['stack'] = $stack === null ? null : json_decode($stack, flags: JSON_THROW_ON_ERROR);
        return $row;
    }
}
