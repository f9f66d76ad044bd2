<?php

declare(strict_types=1);

// As servers written in PHP do: a worker that ends is replaced.
while (true) {
    if (pcntl_fork() === 0) {
        usleep(50_000);
        fwrite(STDERR, "no licence for a worker\n");
        exit(1);
    }
    pcntl_wait($status);
}
