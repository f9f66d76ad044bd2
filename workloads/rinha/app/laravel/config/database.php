<?php

declare(strict_types=1);

return [
    'default' => 'pgsql',
    'connections' => [
        'pgsql' => [
            'driver' => 'pgsql',
            'charset' => 'utf8',
            'prefix' => '',
            'schema' => 'public',
            'options' => [
                PDO::ATTR_PERSISTENT => (bool) env('DATABASE_PERSISTENT', false),
                // One round trip a query, and none of them leaves a statement behind in a pooled connection.
                PDO::PGSQL_ATTR_DISABLE_PREPARES => true,
            ],
        ],
    ],
];
