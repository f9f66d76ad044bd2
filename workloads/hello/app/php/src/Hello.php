<?php

declare(strict_types=1);

namespace Stampede\Hello;

/**
 * Greets whoever is named in the query, and the world otherwise.
 */
final class Hello
{
    /**
     * @param array<mixed> $query
     * @return array{int, string} Status and text.
     */
    public static function answer(string $path, array $query): array
    {
        if ($path !== '/') {
            return [404, "Nothing here.\n"];
        }
        $name = $query['name'] ?? null;
        return [200, 'Hello, ' . (is_string($name) ? $name : 'World') . "!\n"];
    }
}
