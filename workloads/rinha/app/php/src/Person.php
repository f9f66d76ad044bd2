<?php

declare(strict_types=1);

namespace Stampede\Rinha;

use JsonException;
use stdClass;

/**
 * A person as the contest's rules want them.
 */
final class Person
{
    /**
     * @param list<string>|null $stack
     */
    private function __construct(
        public readonly string $nickname,
        public readonly string $name,
        public readonly string $born,
        public readonly ?array $stack,
    ) {
    }

    /**
     * Reads what was sent. A member of a wrong type weighs more than one that breaks a rule.
     *
     * @throws Refused
     */
    public static function read(string $body): self
    {
        try {
            $sent = json_decode($body, flags: JSON_THROW_ON_ERROR);
        } catch (JsonException) {
            throw Refused::wrongType();
        }
        if (!$sent instanceof stdClass) {
            throw Refused::wrongType();
        }
        $nickname = self::text($sent->apelido ?? null);
        $name = self::text($sent->nome ?? null);
        $born = self::text($sent->nascimento ?? null);
        $stack = self::texts($sent->stack ?? null);
        if (
            $nickname === null || $name === null || $born === null
            || !self::isRequired($nickname, 32) || !self::isRequired($name, 100) || !self::isDate($born)
        ) {
            throw Refused::invalid();
        }
        foreach ($stack ?? [] as $technology) {
            if (!self::fits($technology, 32)) {
                throw Refused::invalid();
            }
        }
        return new self($nickname, $name, $born, $stack);
    }

    private static function text(mixed $value): ?string
    {
        return $value === null || is_string($value) ? $value : throw Refused::wrongType();
    }

    /**
     * @return list<string>|null
     */
    private static function texts(mixed $value): ?array
    {
        if ($value === null) {
            return null;
        }
        if (!is_array($value)) {
            throw Refused::wrongType();
        }
        $texts = [];
        foreach ($value as $text) {
            $texts[] = is_string($text) ? $text : throw Refused::wrongType();
        }
        return $texts;
    }

    private static function isRequired(string $text, int $most): bool
    {
        return trim($text) !== '' && self::fits($text, $most);
    }

    /**
     * PostgreSQL keeps no U+0000 in a text.
     */
    private static function fits(string $text, int $most): bool
    {
        return mb_strlen($text, 'UTF-8') <= $most && !str_contains($text, "\0");
    }

    private static function isDate(string $text): bool
    {
        return preg_match('/^(\d{4})-(\d\d)-(\d\d)$/D', $text, $parts) === 1
            && checkdate((int) $parts[2], (int) $parts[3], (int) $parts[1]);
    }
}
