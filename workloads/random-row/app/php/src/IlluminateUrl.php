<?php

declare(strict_types=1);

namespace Stampede\RandomRow;

use Closure;
use Illuminate\Database\Connection;
use Illuminate\Database\Connectors\ConnectorInterface;
use Illuminate\Database\Connectors\MySqlConnector;
use Illuminate\Database\Connectors\PostgresConnector;
use Illuminate\Database\Connectors\SQLiteConnector;
use Illuminate\Database\ConfigurationUrlParser;
use Illuminate\Database\MySqlConnection;
use Illuminate\Database\PostgresConnection;
use Illuminate\Database\SQLiteConnection;
use InvalidArgumentException;
use PDO;

/**
 * Laravel's way to a database, without the rest of the framework. Its own manager (Capsule) would bring a container along whose
 * PSR interface need not be of the same version as that of a server which lies in vendor.
 */
final class IlluminateUrl
{
    private const DRIVERS = [
        'pgsql' => 'pgsql',
        'postgres' => 'pgsql',
        'postgresql' => 'pgsql',
        'mysql' => 'mysql',
        'mariadb' => 'mysql',
        'sqlite' => 'sqlite',
    ];

    public static function connect(#[\SensitiveParameter] string $url): Connection
    {
        [$scheme, $rest] = explode('://', $url, 2) + [1 => ''];
        $driver = self::DRIVERS[$scheme]
            ?? throw new InvalidArgumentException('DATABASE_URL is none of pgsql://, mysql:// and sqlite:///');
        // The options have a query take one round trip.
        $own = match ($driver) {
            'pgsql' => ['charset' => 'utf8', 'options' => [PDO::PGSQL_ATTR_DISABLE_PREPARES => true]],
            'mysql' => [
                'charset' => 'utf8mb4',
                'collation' => 'utf8mb4_unicode_ci',
                'strict' => true,
                'options' => [PDO::ATTR_EMULATE_PREPARES => true],
            ],
            'sqlite' => [],
        };
        /** @var array{database: string} $config */
        $config = (new ConfigurationUrlParser())->parseConfiguration(['url' => "$driver://$rest"] + $own);
        $connect = static fn (ConnectorInterface $connector): Closure => static fn (): PDO => $connector->connect($config);
        return match ($driver) {
            'pgsql' => new PostgresConnection($connect(new PostgresConnector()), $config['database'], '', $config),
            'mysql' => new MySqlConnection($connect(new MySqlConnector()), $config['database'], '', $config),
            'sqlite' => new SQLiteConnection($connect(new SQLiteConnector()), $config['database'], '', $config),
        };
    }
}
