<?php

declare(strict_types=1);

if ($_SERVER['REQUEST_URI'] === '/greedy') {
    ini_set('memory_limit', '-1');
    $taken = [];
    for ($i = 0; $i < 256; $i++) {
        $taken[] = str_repeat(chr($i), 1 << 20);
    }
}
echo "hello\n";
