<?php

declare(strict_types=1);

if ($_SERVER['REQUEST_URI'] === '/never') {
    sleep(600);
}
echo "hello\n";
