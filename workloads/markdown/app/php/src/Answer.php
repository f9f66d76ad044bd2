<?php

declare(strict_types=1);

namespace Stampede\Markdown;

/**
 * What the API says: a status and a message that becomes JSON.
 */
final class Answer
{
    /**
     * @param array<string, string> $message
     */
    private function __construct(
        public readonly int $status,
        public readonly array $message,
    ) {
    }

    public static function result(string $html): self
    {
        return new self(200, ['result' => $html]);
    }

    public static function error(string $error): self
    {
        return new self(400, ['error' => $error]);
    }
}
