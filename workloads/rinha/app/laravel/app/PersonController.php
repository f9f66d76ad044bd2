<?php

declare(strict_types=1);

namespace Stampede\Rinha\Laravel;

use Illuminate\Database\QueryException;
use Illuminate\Http\JsonResponse;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Support\Facades\Validator;
use Illuminate\Support\Str;
use stdClass;

/**
 * The contest's four end points.
 */
final class PersonController
{
    private const RULES = [
        'apelido' => ['required', 'max:32'],
        'nome' => ['required', 'max:100'],
        // There is no year 0.
        'nascimento' => ['required', 'date_format:Y-m-d', 'not_regex:/^0000/'],
        'stack.*' => ['max:32'],
    ];

    /** https://www.postgresql.org/docs/current/errcodes-appendix.html */
    private const UNIQUE_VIOLATION = '23505';

    public function create(Request $request): Response
    {
        $body = $request->getContent();
        $sent = json_decode(is_string($body) ? $body : '');
        if (!$sent instanceof stdClass || !self::hasRightTypes($sent)) {
            return new Response('', 400);
        }
        if (Validator::make((array) $sent, self::RULES)->fails() || self::hasZero($sent)) {
            return new Response('', 422);
        }
        $person = new Person((array) $sent);
        $person->id = Str::uuid()->toString();
        try {
            $person->save();
        } catch (QueryException $error) {
            if ($error->getCode() === self::UNIQUE_VIOLATION) {
                return new Response('', 422);
            }
            throw $error;
        }
        return new Response('', 201, ['Location' => "/pessoas/$person->id"]);
    }

    public function show(string $id): Response|JsonResponse
    {
        $person = Str::isUuid($id) ? Person::query()->find($id, Person::COLUMNS) : null;
        return $person === null ? new Response('', 404) : self::json($person);
    }

    public function search(Request $request): Response|JsonResponse
    {
        $term = $request->query('t');
        if (!is_string($term) || $term === '' || !mb_check_encoding($term, 'UTF-8') || str_contains($term, "\0")) {
            return new Response('', 400);
        }
        return self::json(
            Person::query()
                ->whereRaw('busca LIKE lower(? COLLATE "und-x-icu")', ['%' . addcslashes($term, '\\%_') . '%'])
                ->limit(50)
                ->get(Person::COLUMNS),
        );
    }

    public function count(): Response
    {
        return new Response((string) Person::query()->count(), 200, ['Content-Type' => 'text/plain; charset=utf-8']);
    }

    /**
     * Whether each member is null or of its type; null and missing break a rule, but are of no wrong type.
     */
    private static function hasRightTypes(stdClass $sent): bool
    {
        foreach (['apelido', 'nome', 'nascimento'] as $member) {
            if (!is_string($sent->$member ?? '')) {
                return false;
            }
        }
        $stack = $sent->stack ?? [];
        return is_array($stack) && array_filter($stack, is_string(...)) === $stack;
    }

    /**
     * PostgreSQL keeps no U+0000 in a text. No rule of the validator sees one that stands alone: it counts as blank.
     */
    private static function hasZero(stdClass $sent): bool
    {
        /** @var array{apelido: string, nome: string, stack?: list<string>|null} $person */
        $person = (array) $sent;
        return str_contains($person['apelido'] . $person['nome'] . implode('', $person['stack'] ?? []), "\0");
    }

    private static function json(mixed $value): JsonResponse
    {
        return new JsonResponse($value, 200, [], JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
    }
}
