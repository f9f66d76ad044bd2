<?php

declare(strict_types=1);

use Nyholm\Psr7\Response;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

$vendor = __DIR__ . '/vendor/autoload.php';
require_once is_file($vendor) ? $vendor : '/usr/share/php/Nyholm/Psr7/autoload.php';

// As the script for one request: leaves a mark when it begins, and answers after as many milliseconds as it is asked to.
return static function (ServerRequestInterface $request): ResponseInterface {
    $until = hrtime(true) + 1_000_000 * (int) ($request->getQueryParams()['ms'] ?? 0);
    tempnam((string) getenv('MARKS'), 'begun');
    while (hrtime(true) < $until) {
        // A signal ends it early.
        usleep(1000);
    }
    return new Response(200, [], 'done');
};
