<?php

declare(strict_types=1);

use Nyholm\Psr7\Response;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Stampede\Hello\Hello;

// Composer's copy of the library where it is installed, the distribution's otherwise.
$vendor = __DIR__ . '/vendor/autoload.php';
require_once is_file($vendor) ? $vendor : '/usr/share/php/Nyholm/Psr7/autoload.php';
require_once __DIR__ . '/src/Hello.php';

return static function (ServerRequestInterface $request): ResponseInterface {
    $accepted = $request->getHeaderLine('Accept-Encoding');
    return new Response(...Hello::answer($request->getUri()->getPath(), $request->getQueryParams(), $accepted));
};
