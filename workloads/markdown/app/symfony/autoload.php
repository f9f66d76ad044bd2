<?php

declare(strict_types=1);

// Composer's copies of the libraries where they are installed, the distribution's otherwise.
if (is_dir(__DIR__ . '/vendor/symfony/framework-bundle')) {
    require_once __DIR__ . '/vendor/autoload.php';
} else {
    require_once '/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php';
    require_once '/usr/share/php/Parsedown/autoload.php';
    require_once __DIR__ . '/src/Kernel.php';
    require_once __DIR__ . '/src/MarkdownController.php';
}
