<?php

declare(strict_types=1);

use Illuminate\Contracts\Console\Kernel as ConsoleContract;
use Illuminate\Contracts\Debug\ExceptionHandler as ExceptionContract;
use Illuminate\Contracts\Http\Kernel as HttpContract;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Exceptions\Handler;
use Stampede\Rinha\Laravel\ConsoleKernel;
use Stampede\Rinha\Laravel\HttpKernel;

$app = new Application(dirname(__DIR__));
$app->singleton(HttpContract::class, HttpKernel::class);
$app->singleton(ConsoleContract::class, ConsoleKernel::class);
$app->singleton(ExceptionContract::class, Handler::class);

return $app;
