<?php

declare(strict_types=1);

use Stampede\Hello\Hello;

require __DIR__ . '/../src/Hello.php';

$target = $_SERVER['REQUEST_URI'];
$path = parse_url(is_string($target) ? $target : '', PHP_URL_PATH);
$accepted = $_SERVER['HTTP_ACCEPT_ENCODING'] ?? '';
[$status, $headers, $body] = Hello::answer(is_string($path) ? $path : '', $_GET, is_string($accepted) ? $accepted : '');
http_response_code($status);
foreach ($headers as $name => $value) {
    header("$name: $value");
}
echo $body;
