<?php

declare(strict_types=1);

// Composer's copies of the libraries where they are installed, the distribution's otherwise.
if (is_file(__DIR__ . '/vendor/autoload.php')) {
    require_once __DIR__ . '/vendor/autoload.php';
}
if (!is_dir(__DIR__ . '/vendor/laravel/framework')) {
    require_once '/usr/share/php/Illuminate/autoload.php';
    spl_autoload_register(static function (string $class): void {
        if (str_starts_with($class, 'Stampede\\RandomRow\\Laravel\\')) {
            require __DIR__ . '/app/' . substr($class, strlen('Stampede\\RandomRow\\Laravel\\')) . '.php';
        }
    });
}
