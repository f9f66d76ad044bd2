<?php

declare(strict_types=1);

use Nyholm\Psr7\Response;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

require_once '/usr/share/php/Nyholm/Psr7/autoload.php';
require_once __DIR__ . '/Hoard.php';

return static fn(ServerRequestInterface $request): ResponseInterface
    => new Response(200, ['Content-Type' => 'text/html; charset=UTF-8'], Hoard::answer());
