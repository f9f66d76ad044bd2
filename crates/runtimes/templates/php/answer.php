<?php

declare(strict_types=1);

namespace Stampede;

/**
 * What an application answers, whatever it was written with.
 */
final class Answer
{
    /**
     * @param array<string, list<string>> $headers
     */
    public function __construct(
        public readonly int $status,
        public readonly string $reason = '',
        public readonly array $headers = [],
        public readonly string $body = '',
    ) {
    }

    /**
     * The headers for a server that counts the body itself.
     *
     * @return array<string, list<string>>
     */
    public function uncounted(): array
    {
        $length = static fn (string $name): bool => strcasecmp($name, 'Content-Length') === 0;
        return array_filter($this->headers, static fn (string $name): bool => !$length($name), ARRAY_FILTER_USE_KEY);
    }
}
