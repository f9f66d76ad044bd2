<?php

declare(strict_types=1);

// For opcache.preload: all of the framework and of the application.

// What of it needs a library that is not there stays out, which PHP would warn of.
error_reporting(E_ERROR);
require __DIR__ . '/autoload.php';
$vendor = __DIR__ . '/vendor/laravel/framework/src/Illuminate';
foreach ([is_dir($vendor) ? $vendor : '/usr/share/php/Illuminate', __DIR__ . '/app'] as $folder) {
    $files = new RecursiveIteratorIterator(new RecursiveDirectoryIterator($folder, FilesystemIterator::SKIP_DOTS));
    foreach ($files as $file) {
        if ($file instanceof SplFileInfo && $file->getExtension() === 'php') {
            opcache_compile_file($file->getPathname());
        }
    }
}
