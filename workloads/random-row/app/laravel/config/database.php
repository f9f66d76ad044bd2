<?php

declare(strict_types=1);

$options = [PDO::ATTR_PERSISTENT => (bool) env('DATABASE_PERSISTENT', false)];

return [
    // DatabaseProvider chooses one and gives it its address.
    'default' => 'sqlite',
    'connections' => [
        'pgsql' => [
            'driver' => 'pgsql',
            'charset' => 'utf8',
            'prefix' => '',
            'schema' => 'public',
            // One round trip a query; the constant is that of pdo_pgsql, which may not be there.
            'options' => $options + (extension_loaded('pdo_pgsql') ? [PDO::PGSQL_ATTR_DISABLE_PREPARES => true] : []),
        ],
        'mysql' => [
            'driver' => 'mysql',
            'charset' => 'utf8mb4',
            'collation' => 'utf8mb4_unicode_ci',
            'prefix' => '',
            'strict' => true,
            // One round trip a query: PDO fills in the values itself.
            'options' => $options + [PDO::ATTR_EMULATE_PREPARES => true],
        ],
        'sqlite' => [
            'driver' => 'sqlite',
            'database' => base_path('database.sqlite'),
            'prefix' => '',
            'options' => $options,
        ],
    ],
];
