<?php

declare(strict_types=1);

return [
    'driver' => 'array',
    'lifetime' => 120,
    'cookie' => 'random-row',
    'path' => '/',
    'domain' => null,
    'secure' => false,
    'http_only' => true,
    'same_site' => 'lax',
    'lottery' => [0, 100],
];
