<?php

declare(strict_types=1);

// Composer's copies of the libraries where they are installed, the distribution's otherwise.
if (is_file(__DIR__ . '/vendor/autoload.php')) {
    require_once __DIR__ . '/vendor/autoload.php';
}
if (!is_dir(__DIR__ . '/vendor/laravel/framework')) {
    require_once '/usr/share/php/Illuminate/autoload.php';
    require_once __DIR__ . '/app/HttpKernel.php';
    require_once __DIR__ . '/app/ConsoleKernel.php';
    require_once __DIR__ . '/app/RouteServiceProvider.php';
    require_once __DIR__ . '/app/HelloController.php';
}
