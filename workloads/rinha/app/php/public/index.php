<?php

declare(strict_types=1);

use Stampede\Rinha\Api;

require __DIR__ . '/../src/autoload.php';

$method = $_SERVER['REQUEST_METHOD'];
$target = $_SERVER['REQUEST_URI'];
$answer = Api::fromEnvironment()->answer(
    is_string($method) ? $method : '',
    is_string($target) ? explode('?', $target, 2)[0] : '',
    $_GET,
    (string) file_get_contents('php://input'),
);

http_response_code($answer->status);
foreach ($answer->headers as $name => $value) {
    header("$name: $value");
}
echo $answer->body;
