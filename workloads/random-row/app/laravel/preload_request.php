<?php

declare(strict_types=1);

use Illuminate\Contracts\Http\Kernel;
use Illuminate\Foundation\Application;
use Illuminate\Http\Request;

// For opcache.preload: what one request loads, which is answered here for nobody.

require __DIR__ . '/autoload.php';
/** @var Application $app */
$app = require __DIR__ . '/bootstrap/app.php';
/** @var Kernel $kernel */
$kernel = $app->make(Kernel::class);
$kernel->handle(Request::create('/row'));
