<?php

declare(strict_types=1);

// Works until it has had so much CPU time, by the kernel's clock of this process: exponential with a mean of 2 ms, so that what a
// request asks for is known and is the same on a machine whose speed changes.

$used = static function (): int {
    $usage = getrusage();
    return ($usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec']) * 1_000_000
        + $usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec'];
};
$until = $used() - 2000 * log(mt_rand(1, 1 << 30) / (1 << 30));
while ($used() < $until);

echo "done\n";
