<?php

declare(strict_types=1);

use Nyholm\Psr7\Response;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Stampede\Rinha\Api;

// Composer's copy of the library where it is installed, the distribution's otherwise.
$vendor = __DIR__ . '/vendor/autoload.php';
require_once is_file($vendor) ? $vendor : '/usr/share/php/Nyholm/Psr7/autoload.php';
require_once __DIR__ . '/src/autoload.php';

$api = Api::fromEnvironment();

return static function (ServerRequestInterface $request) use ($api): ResponseInterface {
    $answer = $api->answer(
        $request->getMethod(),
        $request->getUri()->getPath(),
        $request->getQueryParams(),
        (string) $request->getBody(),
    );
    return new Response($answer->status, $answer->headers, $answer->body);
};
