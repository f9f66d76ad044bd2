<?php

declare(strict_types=1);

// Each class when it is needed, so that a layer does not pay for another: what lies in vendor beside it may do work of its own
// when it is loaded. Composer's copy where it is installed, the distribution's otherwise.
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Stampede\\RandomRow\\')) {
        require __DIR__ . '/src/' . substr($class, strlen('Stampede\\RandomRow\\')) . '.php';
    }
});
$library = match (getenv('DATA_LAYER')) {
    'dbal', 'orm' => ['doctrine/orm', 'Doctrine/ORM'],
    'query-builder', 'eloquent' => ['illuminate/database', 'Illuminate/Database'],
    default => null,
};
if ($library !== null) {
    [$package, $folder] = $library;
    $vendor = __DIR__ . "/vendor/$package";
    require_once is_dir($vendor) ? __DIR__ . '/vendor/autoload.php' : "/usr/share/php/$folder/autoload.php";
}
