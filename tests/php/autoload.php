<?php

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    $name = 'Stampede\\Tests\\';
    $file = __DIR__ . '/' . substr($class, strlen($name)) . '.php';
    if (str_starts_with($class, $name) && is_file($file)) {
        require $file;
    }
});
