<?php

declare(strict_types=1);

namespace Stampede\Hello;

use Illuminate\Foundation\Support\Providers\RouteServiceProvider as BaseProvider;
use Illuminate\Routing\Router;

/**
 * Routes without session, as those of an API.
 */
final class RouteServiceProvider extends BaseProvider
{
    public function boot(): void
    {
        $this->routes(static function (Router $router): void {
            $router->get('/', HelloController::class);
            $router->get('/gzip', [HelloController::class, 'gzip']);
            $router->get('/{path}', [HelloController::class, 'nothing'])->where('path', '.+');
        });
    }
}
