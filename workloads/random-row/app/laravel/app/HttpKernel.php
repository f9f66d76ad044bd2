<?php

declare(strict_types=1);

namespace Stampede\RandomRow\Laravel;

use Illuminate\Foundation\Http\Kernel;
use Illuminate\Foundation\Http\Middleware\PreventRequestsDuringMaintenance;
use Illuminate\Foundation\Http\Middleware\ValidatePostSize;

/**
 * With the middleware of a new Laravel application but for the two that change what was sent.
 */
final class HttpKernel extends Kernel
{
    /** @var list<class-string> */
    protected $middleware = [
        PreventRequestsDuringMaintenance::class,
        ValidatePostSize::class,
    ];
}
