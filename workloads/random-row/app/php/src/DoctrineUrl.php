<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use Doctrine\DBAL\Connection;
use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\Tools\DsnParser;

/**
 * Doctrine's way to a database.
 */
final class DoctrineUrl
{
    private const DRIVERS = [
        'pgsql' => 'pdo_pgsql',
        'postgres' => 'pdo_pgsql',
        'postgresql' => 'pdo_pgsql',
        'mysql' => 'pdo_mysql',
        'mariadb' => 'pdo_mysql',
        'sqlite' => 'pdo_sqlite',
    ];

    public static function connect(#[\SensitiveParameter] string $url): Connection
    {
        return DriverManager::getConnection((new DsnParser(self::DRIVERS))->parse($url));
    }
}
