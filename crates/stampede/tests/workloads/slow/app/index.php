<?php

declare(strict_types=1);

usleep(10_000);
echo "hello\n";
