<?php

declare(strict_types=1);

// What this PHP is and which settings are in force, as JSON.

return (static function (): string {
    $extensions = [];
    foreach (get_loaded_extensions() as $name) {
        $name = strtolower($name);
        $extensions[$name === 'zend opcache' ? 'opcache' : $name] = (string) phpversion($name);
    }
    $settings = [];
    foreach (ini_get_all(null, false) ?: [] as $name => $value) {
        if (preg_match('~^(opcache|realpath_cache|memory_limit|max_execution_time|output_buffering|zend\.)~', $name)) {
            $settings[$name] = (string) $value;
        }
    }
    $cache = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
    return json_encode([
        'version' => PHP_VERSION,
        'thread_safe' => (bool) PHP_ZTS,
        'debug' => (bool) PHP_DEBUG,
        'sapi' => PHP_SAPI,
        'extensions' => (object) $extensions,
        'settings' => (object) $settings,
        'opcache' => $cache['opcache_enabled'] ?? false,
        'jit' => $cache['jit']['on'] ?? false,
    ], JSON_THROW_ON_ERROR);
})();
