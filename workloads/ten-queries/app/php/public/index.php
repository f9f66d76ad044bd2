<?php

declare(strict_types=1);

use Stampede\TenQueries\Api;
use Stampede\TenQueries\Pool;

require __DIR__ . '/../autoload.php';

$method = $_SERVER['REQUEST_METHOD'];
$target = $_SERVER['REQUEST_URI'];
$answer = (new Api(new Pool((string) getenv('DATABASE_URL'))))->answer(
    is_string($method) ? $method : '',
    is_string($target) ? explode('?', $target, 2)[0] : '',
);

http_response_code($answer->status);
foreach ($answer->headers() as $name => $value) {
    header("$name: $value");
}
echo $answer->body();
