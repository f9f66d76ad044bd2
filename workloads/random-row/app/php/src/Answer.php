<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

/**
 * What the application says.
 */
final class Answer
{
    /**
     * @param array<string, int|string>|null $message becomes JSON; null is an empty body
     */
    public function __construct(
        public readonly int $status,
        public readonly ?array $message = null,
    ) {
    }

    /**
     * @return array<string, string>
     */
    public function headers(): array
    {
        return $this->message === null ? [] : ['Content-Type' => 'application/json'];
    }

    public function body(): string
    {
        return $this->message === null ? '' : json_encode($this->message, JSON_THROW_ON_ERROR);
    }
}
