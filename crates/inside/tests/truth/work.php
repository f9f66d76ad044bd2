<?php

// A program whose shares are known: the same loop, three times as often here as there, so that no clock is needed.

declare(strict_types=1);

namespace Truth;

function six(): int
{
    for ($i = 0, $x = 1; $i < 600_000; $i++) {
        $x = ($x * 31 + $i) % 1_000_003;
    }

    return $x;
}

final class Work
{
    public static function three(): int
    {
        for ($i = 0, $x = 1; $i < 300_000; $i++) {
            $x = ($x * 31 + $i) % 1_000_003;
        }

        return $x;
    }

    public function all(): int
    {
        $one = static function (): int {
            for ($i = 0, $x = 1; $i < 100_000; $i++) {
                $x = ($x * 31 + $i) % 1_000_003;
            }

            return $x;
        };

        return six() + self::three() + $one();
    }
}

// By the rest of its own time, it is what waits: the program says for how long it waited where.
function nap(): int
{
    $from = \hrtime(true);
    \usleep(20_000);

    return \hrtime(true) - $from;
}

function lock(string $path): int
{
    $file = \fopen($path, 'c');
    $from = \hrtime(true);
    \flock($file, \LOCK_EX);
    $waited = \hrtime(true) - $from;
    \fclose($file);

    return $waited;
}

if (\PHP_SAPI === 'cli') {
    [, $seconds, $lock] = $argv;
    $from = \hrtime(true);
    $until = $from + (int) ((float) $seconds * 1e9);
    $waited = ['nap' => 0, 'lock' => 0];
    while (\hrtime(true) < $until) {
        (new Work())->all();
        $waited['nap'] += nap();
        $waited['lock'] += lock($lock);
    }
    echo "{$waited['nap']} {$waited['lock']} ", \hrtime(true) - $from, "\n";
} elseif (\function_exists('frankenphp_handle_request') && isset($_SERVER['FRANKENPHP_WORKER'])) {
    while (\frankenphp_handle_request(static function (): void {
        echo (new Work())->all();
    }));
} else {
    echo (new Work())->all();
}
