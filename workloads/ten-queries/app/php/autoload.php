<?php

declare(strict_types=1);

require_once __DIR__ . '/src/Answer.php';
require_once __DIR__ . '/src/Api.php';
require_once __DIR__ . '/src/Pool.php';
