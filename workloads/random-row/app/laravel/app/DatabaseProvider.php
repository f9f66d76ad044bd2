<?php

declare(strict_types=1);

namespace Stampede\RandomRow\Laravel;

use Illuminate\Config\Repository;
use Illuminate\Support\ServiceProvider;
use InvalidArgumentException;

/**
 * Takes the database's address and the layer that reads it from the environment of the process that serves: a cached
 * configuration would keep those of the process that made the cache.
 */
final class DatabaseProvider extends ServiceProvider
{
    public function register(): void
    {
        $url = (string) getenv('DATABASE_URL');
        if ($url !== '') {
            [$scheme, $rest] = explode('://', $url, 2) + [1 => ''];
            $driver = match ($scheme) {
                'pgsql', 'postgres', 'postgresql' => 'pgsql',
                'mysql', 'mariadb' => 'mysql',
                'sqlite' => 'sqlite',
                default => throw new InvalidArgumentException(
                    'DATABASE_URL is none of pgsql://, mysql:// and sqlite:///',
                ),
            };
            /** @var Repository $config */
            $config = $this->app->make(Repository::class);
            $config->set('database.default', $driver);
            $config->set("database.connections.$driver.url", "$driver://$rest");
        }
        $this->app->bind(Rows::class, match ((string) getenv('DATA_LAYER')) {
            '', 'query-builder' => QueryBuilderRows::class,
            'eloquent' => EloquentRows::class,
            default => throw new InvalidArgumentException('DATA_LAYER is none of query-builder and eloquent'),
        });
    }
}
