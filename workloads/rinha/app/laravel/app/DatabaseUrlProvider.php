<?php

declare(strict_types=1);

namespace Stampede\Rinha\Laravel;

use Illuminate\Config\Repository;
use Illuminate\Support\ServiceProvider;

/**
 * Takes the database's address from the environment of the process that serves: a cached configuration would keep the
 * one of the process that made the cache.
 */
final class DatabaseUrlProvider extends ServiceProvider
{
    public function register(): void
    {
        /** @var Repository $config */
        $config = $this->app->make(Repository::class);
        $config->set('database.connections.pgsql.url', getenv('DATABASE_URL'));
    }
}
