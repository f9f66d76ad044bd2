<?php

declare(strict_types=1);

namespace Stampede\Fragments;

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\TwigBundle\TwigBundle;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpKernel\Bundle\BundleInterface;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

/**
 * A Symfony application as its recipes make it, with two pages and without a log.
 */
final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    /**
     * @return iterable<BundleInterface>
     */
    public function registerBundles(): iterable
    {
        yield new FrameworkBundle();
        yield new TwigBundle();
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
            'fragments' => true,
        ]);
        $container->extension('twig', ['default_path' => '%kernel.project_dir%/templates']);
        $services = $container->services()->defaults()->autowire();
        $services->set(Blocks::class);
        $services->set(BlockController::class)->tag('controller.service_arguments');
        $services->set(PageController::class)->tag('controller.service_arguments');
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('page', '/')->controller(PageController::class)->methods(['GET']);
        $routes->add('plain', '/plain')->controller([PageController::class, 'plain'])->methods(['GET']);
    }
}
