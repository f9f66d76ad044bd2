<?php

declare(strict_types=1);

use Nyholm\Psr7\Response;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Stampede\RandomRow\Api;

require_once __DIR__ . '/autoload.php';
// Composer's copy of the library where it is installed, the distribution's otherwise.
$vendor = is_dir(__DIR__ . '/vendor/nyholm/psr7');
require_once $vendor ? __DIR__ . '/vendor/autoload.php' : '/usr/share/php/Nyholm/Psr7/autoload.php';

$api = new Api();

return static function (ServerRequestInterface $request) use ($api): ResponseInterface {
    $answer = $api->answer($request->getMethod(), $request->getUri()->getPath());
    return new Response($answer->status, $answer->headers(), $answer->body());
};
