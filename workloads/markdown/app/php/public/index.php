<?php

declare(strict_types=1);

use Stampede\Markdown\Api;

// Composer's copy of Parsedown where it is installed, the distribution's otherwise. That file is all of it; what lies beside it
// in vendor may do work of its own when it is loaded.
$vendor = __DIR__ . '/../vendor/erusev/parsedown/Parsedown.php';
require is_file($vendor) ? $vendor : '/usr/share/php/Parsedown/autoload.php';
require __DIR__ . '/../src/Answer.php';
require __DIR__ . '/../src/Api.php';

$method = $_SERVER['REQUEST_METHOD'];
$answer = (new Api(new Parsedown()))->answer(
    is_string($method) ? $method : '',
    (string) file_get_contents('php://input'),
);

http_response_code($answer->status);
header('Content-Type: application/json');
echo json_encode($answer->message, JSON_THROW_ON_ERROR);
