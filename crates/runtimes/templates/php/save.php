<?php

declare(strict_types=1);

// Keeps what this PHP is in a file, whole or not at all.

(static function (): void {
    $file = '@{run}/php/probe.json';
    $part = $file . '.' . getmypid();
    file_put_contents($part, require '@{run}/php/settings.php');
    rename($part, $file);
})();
