<?php

declare(strict_types=1);

// Composer's copies of the libraries where they are installed, the distribution's otherwise.
if (is_dir(__DIR__ . '/vendor/symfony/framework-bundle')) {
    require_once __DIR__ . '/vendor/autoload.php';
} else {
    require_once '/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php';
    require_once '/usr/share/php/Symfony/Bundle/TwigBundle/autoload.php';
    require_once '/usr/share/php/Symfony/Component/Translation/autoload.php';
    require_once '/usr/share/php/Doctrine/ORM/autoload.php';
    spl_autoload_register(static function (string $class): void {
        if (str_starts_with($class, 'Stampede\\Blog\\')) {
            $file = __DIR__ . '/src/' . strtr(substr($class, strlen('Stampede\\Blog\\')), '\\', '/') . '.php';
            if (is_file($file)) {
                require $file;
            }
        }
    });
}
