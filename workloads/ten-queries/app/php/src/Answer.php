<?php

declare(strict_types=1);

namespace Stampede\TenQueries;

/**
 * What the application says.
 */
final class Answer
{
    /**
     * @param array<string, int> $message becomes JSON; none is an empty body
     */
    public function __construct(
        public readonly int $status,
        public readonly array $message = [],
    ) {
    }

    /**
     * @return array<string, string>
     */
    public function headers(): array
    {
        return $this->message === [] ? [] : ['Content-Type' => 'application/json'];
    }

    public function body(): string
    {
        return $this->message === [] ? '' : json_encode($this->message, JSON_THROW_ON_ERROR);
    }
}
