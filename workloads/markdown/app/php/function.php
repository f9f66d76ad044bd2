<?php

declare(strict_types=1);

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

/**
 * The endpoint as a cloud function.
 */
function markdown(ServerRequestInterface $request): ResponseInterface
{
    return (require __DIR__ . '/handler.php')($request);
}
