<?php

declare(strict_types=1);

require_once __DIR__ . '/Shop.php';

echo Shop::answer((string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
