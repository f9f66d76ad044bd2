<?php

declare(strict_types=1);

namespace Stampede\Rinha;

use Closure;

/**
 * The contest's four end points.
 */
final class Api
{
    private ?People $people = null;

    /**
     * @param Closure(): People $connect connects when the first request needs it
     */
    public function __construct(private readonly Closure $connect)
    {
    }

    /**
     * The API on the database that the environment names.
     */
    public static function fromEnvironment(): self
    {
        return new self(static fn (): People => People::at(
            DatabaseUrl::parse((string) getenv('DATABASE_URL')),
            (bool) getenv('DATABASE_PERSISTENT'),
        ));
    }

    /**
     * @param array<mixed> $query the decoded query
     */
    public function answer(string $method, string $path, array $query, string $body): Answer
    {
        $isRead = $method === 'GET' || $method === 'HEAD';
        return match (true) {
            $path === '/pessoas' && $method === 'POST' => $this->create($body),
            $path === '/pessoas' && $isRead => $this->search($query['t'] ?? null),
            $path === '/contagem-pessoas' && $isRead => Answer::text((string) $this->people()->count()),
            str_starts_with($path, '/pessoas/') && $isRead => $this->show(substr($path, strlen('/pessoas/'))),
            $path === '/pessoas', $path === '/contagem-pessoas', str_starts_with($path, '/pessoas/')
                => Answer::status(405),
            default => Answer::status(404),
        };
    }

    private function create(string $body): Answer
    {
        try {
            $person = Person::read($body);
        } catch (Refused $refused) {
            return Answer::status($refused->getCode());
        }
        $id = $this->people()->add($person);
        return $id === null ? Answer::status(422) : Answer::created($id);
    }

    private function show(string $id): Answer
    {
        $isId = preg_match('/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/Di', $id) === 1;
        $person = $isId ? $this->people()->find($id) : null;
        return $person === null ? Answer::status(404) : Answer::json($person);
    }

    private function search(mixed $term): Answer
    {
        $isTerm = is_string($term) && $term !== '' && mb_check_encoding($term, 'UTF-8') && !str_contains($term, "\0");
        return $isTerm ? Answer::json($this->people()->search($term)) : Answer::status(400);
    }

    private function people(): People
    {
        return $this->people ??= ($this->connect)();
    }
}
