<?php

declare(strict_types=1);

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

/**
 * The greeting as a cloud function.
 */
function hello(ServerRequestInterface $request): ResponseInterface
{
    return (require __DIR__ . '/handler.php')($request);
}
