<?php

declare(strict_types=1);

// Leaves a mark when it begins, and answers after as many milliseconds as it is asked to wait.
$until = hrtime(true) + 1_000_000 * (int) ($_GET['ms'] ?? 0);
tempnam((string) getenv('MARKS'), 'begun');
while (hrtime(true) < $until) {
    // A signal ends it early.
    usleep(1000);
}
echo 'done';
