<?php

declare(strict_types=1);

use Stampede\Hello\Hello;

require __DIR__ . '/../src/Hello.php';

$target = $_SERVER['REQUEST_URI'];
$path = parse_url(is_string($target) ? $target : '', PHP_URL_PATH);
[$status, $text] = Hello::answer(is_string($path) ? $path : '', $_GET);
http_response_code($status);
header('Content-Type: text/plain;charset=UTF-8');
echo $text;
