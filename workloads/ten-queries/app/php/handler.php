<?php

declare(strict_types=1);

use Nyholm\Psr7\Response;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Stampede\TenQueries\Api;
use Stampede\TenQueries\Pool;

require_once __DIR__ . '/autoload.php';
// Composer's copy of the library where it is installed, the distribution's otherwise.
$vendor = __DIR__ . '/vendor/autoload.php';
require_once is_file($vendor) ? $vendor : '/usr/share/php/Nyholm/Psr7/autoload.php';

$api = new Api(new Pool((string) getenv('DATABASE_URL')));

return static function (ServerRequestInterface $request) use ($api): ResponseInterface {
    $answer = $api->answer($request->getMethod(), $request->getUri()->getPath());
    return new Response($answer->status, $answer->headers(), $answer->body());
};
