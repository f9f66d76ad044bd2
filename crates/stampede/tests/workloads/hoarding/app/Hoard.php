<?php

declare(strict_types=1);

final class Hoard
{
    /** @var list<string> */
    private static array $kept = [];

    /** Keeps 32 KiB, after a wait beside which it matters little when a request was sent. */
    public static function answer(): string
    {
        usleep(100_000);
        self::$kept[] = random_bytes(32_768);
        return "hello\n";
    }
}
