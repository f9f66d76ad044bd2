<?php

declare(strict_types=1);

// Each class when it is needed, so that a layer does not pay for another. Composer's copies of the libraries where they
// are installed, the distribution's otherwise.
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Stampede\\RandomRow\\')) {
        require __DIR__ . '/src/' . substr($class, strlen('Stampede\\RandomRow\\')) . '.php';
    }
});
$vendor = __DIR__ . '/vendor/autoload.php';
if (is_file($vendor)) {
    require_once $vendor;
} elseif (in_array(getenv('DATA_LAYER'), ['dbal', 'orm'], true)) {
    require_once '/usr/share/php/Doctrine/ORM/autoload.php';
}
