<?php

declare(strict_types=1);

namespace Stampede\Rinha\Laravel;

use Illuminate\Foundation\Support\Providers\RouteServiceProvider as BaseProvider;
use Illuminate\Routing\Router;

/**
 * The routes, without session, as those of an API.
 */
final class RouteServiceProvider extends BaseProvider
{
    public function boot(): void
    {
        $this->routes(static function (Router $router): void {
            $router->post('/pessoas', [PersonController::class, 'create']);
            $router->get('/pessoas', [PersonController::class, 'search']);
            $router->get('/pessoas/{id}', [PersonController::class, 'show']);
            $router->get('/contagem-pessoas', [PersonController::class, 'count']);
        });
    }
}
