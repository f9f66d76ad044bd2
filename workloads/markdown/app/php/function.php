<?php

declare(strict_types=1);

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

/**
 * The endpoint as a cloud function.
 */
function markdown(ServerRequestInterface $request): ResponseInterface
{
    /** @var Closure(ServerRequestInterface): ResponseInterface $answer */
    $answer = require __DIR__ . '/handler.php';
    return $answer($request);
}
