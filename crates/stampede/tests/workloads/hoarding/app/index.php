<?php

declare(strict_types=1);

require_once __DIR__ . '/Hoard.php';

echo Hoard::answer();
