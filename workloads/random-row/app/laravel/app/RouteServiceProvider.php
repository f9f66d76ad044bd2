<?php

declare(strict_types=1);

namespace Stampede\RandomRow\Laravel;

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
            $router->get('/row', [RowController::class, 'random']);
            $router->post('/row', [RowController::class, 'change']);
            $router->get('/row/{id}', [RowController::class, 'show'])->where('id', '[1-9][0-9]{0,8}');
        });
    }
}
