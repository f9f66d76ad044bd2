<?php

declare(strict_types=1);

require_once __DIR__ . '/truth.php';

echo Truth\answer();
