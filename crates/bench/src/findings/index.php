<?php

declare(strict_types=1);

// Does what its environment says, so that faults of an application and of its surroundings can be provoked.

$of = static fn (string $name): int => (int) (getenv($name) ?: '0');

// Scripts that each request needs.
for ($script = 0, $scripts = $of('SCRIPTS'); $script < $scripts; $script++) {
    require __DIR__ . "/scripts/$script.php";
}

// Turns away what is more than it takes at once.
$slots = $of('AT_MOST');
$slot = $slots === 0;
for ($number = 0; $number < $slots && !$slot; $number++) {
    $taken[$number] = fopen(sys_get_temp_dir() . "/slot-$number", 'c');
    $slot = $taken[$number] !== false && flock($taken[$number], LOCK_EX | LOCK_NB);
}
if (!$slot) {
    http_response_code(503);
    echo "busy\n";
    return;
}

// Memory that is in use while it works and waits.
$kept = str_repeat('x', $of('MEGABYTES') << 20);

// What frameworks do for developers: collect what happens, and show it.
$trace = [];
$collects = getenv('APP_ENV') === 'dev';
for ($call = 0, $calls = $of('TRACED'); $collects && $call < $calls; $call++) {
    $trace[] = json_encode(debug_backtrace());
}

// Thousands of calls of a function of its own.
$step = static fn (int $value): int => ($value * 31 + 7) % 1_000_003;
$value = strlen($kept) + count($trace);
for ($call = 0, $calls = 1_000 * $of('WORK'); $call < $calls; $call++) {
    $value = $step($value);
}

// Waits, as for another service.
usleep(1_000 * $of('WAIT_MS'));

// Waits for its turn, as for a lock of a table or of a session.
if ($of('LOCKED_MS') > 0) {
    $lock = fopen(sys_get_temp_dir() . '/lock', 'c');
    if ($lock !== false && flock($lock, LOCK_EX)) {
        usleep(1_000 * $of('LOCKED_MS'));
        flock($lock, LOCK_UN);
    }
}

header('Content-Type: text/plain');
echo "done\n";
