<?php

declare(strict_types=1);

namespace Stampede\Hello;

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

/**
 * A Symfony application as its recipes make it, with one controller and without a log.
 */
final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    /**
     * @return iterable<FrameworkBundle>
     */
    public function registerBundles(): iterable
    {
        yield new FrameworkBundle();
    }

    public function getProjectDir(): string
    {
        return dirname(__DIR__);
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => '%env(APP_SECRET)%',
            'http_method_override' => false,
            'php_errors' => ['log' => true],
            'router' => ['utf8' => true],
        ]);
        $container->services()
            ->set(HelloController::class)
            ->autowire()
            ->tag('controller.service_arguments');
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('hello', '/')->controller(HelloController::class);
        $routes->add('gzip', '/gzip')->controller([HelloController::class, 'gzip']);
        $routes->add('nothing', '/{path}')->controller([HelloController::class, 'nothing'])->requirements(['path' => '.+']);
    }
}
