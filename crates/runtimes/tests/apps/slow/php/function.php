<?php

declare(strict_types=1);

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

function slow(ServerRequestInterface $request): ResponseInterface
{
    return (require __DIR__ . '/handler.php')($request);
}
