<?php

declare(strict_types=1);

namespace Stampede\Tests;

use RuntimeException;

/**
 * What a server answered.
 */
final class HttpAnswer
{
    /**
     * @param array<string, string> $headers by their names in lower case
     */
    private function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $body,
    ) {
    }

    /**
     * @param array<string, string> $headers
     */
    public static function to(int $port, string $method, string $target, string $body, array $headers): self
    {
        $lines = [];
        foreach ($headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        $context = stream_context_create(['http' => [
            'method' => $method,
            'header' => $lines,
            'content' => $body,
            'ignore_errors' => true,
            'follow_location' => 0,
            'timeout' => 30,
        ]]);
        $stream = fopen("http://127.0.0.1:$port$target", 'r', false, $context);
        if ($stream === false) {
            throw new RuntimeException("$method $target got no answer");
        }
        $received = stream_get_contents($stream);
        $status = 0;
        $fields = [];
        /** @var list<string> $lines */
        $lines = (array) (stream_get_meta_data($stream)['wrapper_data'] ?? []);
        foreach ($lines as $line) {
            if (preg_match('{^HTTP/\S+ (\d+)}', $line, $parts) === 1) {
                $status = (int) $parts[1];
            } else {
                [$name, $value] = explode(':', $line, 2);
                $fields[strtolower($name)] = trim($value);
            }
        }
        return new self($status, $fields, (string) $received);
    }

    public function json(): mixed
    {
        return json_decode($this->body, true, flags: JSON_THROW_ON_ERROR);
    }
}
