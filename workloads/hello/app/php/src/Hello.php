<?php

declare(strict_types=1);

namespace Stampede\Hello;

/**
 * Greets whoever is named in the query, and the world otherwise.
 */
final class Hello
{
    private const TEXT = ['Content-Type' => 'text/plain;charset=UTF-8'];

    /**
     * @param array<mixed> $query
     * @param string $accepted the codings that the client takes
     *
     * @return array{int, array<string, string>, string} status, headers and body
     */
    public static function answer(string $path, array $query, string $accepted): array
    {
        $name = $query['name'] ?? null;
        $text = 'Hello, ' . (is_string($name) ? $name : 'World') . "!\n";
        return match (true) {
            $path === '/' => [200, self::TEXT, $text],
            $path === '/gzip' && str_contains($accepted, 'gzip') => [
                200,
                self::TEXT + ['Vary' => 'Accept-Encoding', 'Content-Encoding' => 'gzip'],
                (string) gzencode($text),
            ],
            $path === '/gzip' => [200, self::TEXT + ['Vary' => 'Accept-Encoding'], $text],
            default => [404, self::TEXT, "Nothing here.\n"],
        };
    }
}
