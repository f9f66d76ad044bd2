<?php

declare(strict_types=1);

use Stampede\Mix\Api;

require __DIR__ . '/../src/Answer.php';
require __DIR__ . '/../src/Api.php';

$method = $_SERVER['REQUEST_METHOD'];
$target = $_SERVER['REQUEST_URI'];
$answer = (new Api(dirname(__DIR__) . '/database.sqlite'))->answer(
    is_string($method) ? $method : '',
    is_string($target) ? explode('?', $target, 2)[0] : '',
);

http_response_code($answer->status);
foreach ($answer->headers() as $name => $value) {
    header("$name: $value");
}
echo $answer->body();
