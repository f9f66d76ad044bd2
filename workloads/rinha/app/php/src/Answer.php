<?php

declare(strict_types=1);

namespace Stampede\Rinha;

/**
 * What the API says.
 */
final class Answer
{
    /**
     * @param array<string, string> $headers
     */
    private function __construct(
        public readonly int $status,
        public readonly array $headers = [],
        public readonly string $body = '',
    ) {
    }

    public static function status(int $status): self
    {
        return new self($status);
    }

    public static function created(string $id): self
    {
        return new self(201, ['Location' => "/pessoas/$id"]);
    }

    public static function json(mixed $value): self
    {
        $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE;
        return new self(200, ['Content-Type' => 'application/json'], json_encode($value, $flags));
    }

    public static function text(string $text): self
    {
        return new self(200, ['Content-Type' => 'text/plain; charset=utf-8'], $text);
    }
}
