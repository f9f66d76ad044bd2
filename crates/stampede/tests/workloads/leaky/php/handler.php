<?php

declare(strict_types=1);

use Nyholm\Psr7\Response;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

require_once '/usr/share/php/Nyholm/Psr7/autoload.php';

return static function (ServerRequestInterface $request): ResponseInterface {
    // One name for all requests of a worker: whoever comes next is greeted with it.
    static $name = 'World';
    $name = $request->getQueryParams()['name'] ?? $name;
    return new Response(200, [], "Hello, $name!\n");
};
