<?php

declare(strict_types=1);

// Makes of Debian's Composer one file that needs nothing beside PHP, as that in the image of its makers.

[, $file] = $argv;
$share = '/usr/share/php';
$phar = new Phar("$file.phar", 0, 'composer.phar');
$folders = ['Composer', 'JsonSchema', 'Psr/Log', 'Psr/Container', 'React/Promise', 'Seld', 'Symfony/Contracts', 'data/Composer', 'data/JsonSchema'];
foreach (['Console', 'Filesystem', 'Finder', 'Process', 'String'] as $component) {
    $folders[] = "Symfony/Component/$component";
}
$files = [];
foreach ($folders as $folder) {
    $flags = FilesystemIterator::SKIP_DOTS | FilesystemIterator::FOLLOW_SYMLINKS;
    foreach (new RecursiveIteratorIterator(new RecursiveDirectoryIterator("$share/$folder", $flags)) as $found) {
        if ($found->isFile()) {
            $files['share/php/' . substr($found->getPathname(), strlen("$share/"))] = $found->getRealPath();
        }
    }
}
$phar->buildFromIterator(new ArrayIterator($files));
$phar->addFromString('bin/composer', preg_replace('~^#!.*\n~', '', (string) file_get_contents('/usr/bin/composer')));
$phar->setStub(<<<'PHP'
    #!/usr/bin/env php
    <?php
    Phar::mapPhar('composer.phar');
    set_include_path('phar://composer.phar/share/php');
    require 'phar://composer.phar/bin/composer';
    __HALT_COMPILER();
    PHP);
unset($phar);
rename("$file.phar", $file);
chmod($file, 0755);
