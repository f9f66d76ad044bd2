<?php

declare(strict_types=1);

namespace Stampede\Blog;

use Doctrine\DBAL\Connection;
use Doctrine\DBAL\DriverManager;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\ORMSetup;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\TwigBundle\TwigBundle;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpKernel\Bundle\BundleInterface;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

use function Symfony\Component\DependencyInjection\Loader\Configurator\service;

/**
 * A Symfony application as its recipes make it. Doctrine is wired by hand, since its bundle is in no distribution.
 */
final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public const LOCALES = 'de|en|fr|ja|pt_BR';

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

    /**
     * Of its own for each choice of Twig's cache, which is fixed when the container is made.
     */
    public function getCacheDir(): string
    {
        return parent::getCacheDir() . (self::hasTwigCache() ? '' : '-without-twig');
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => '%env(APP_SECRET)%',
            'http_method_override' => false,
            'php_errors' => ['log' => true],
            'router' => ['utf8' => true],
            'default_locale' => 'en',
            'translator' => ['default_path' => '%kernel.project_dir%/translations', 'fallbacks' => ['en']],
        ]);
        $container->extension('twig', [
            'default_path' => '%kernel.project_dir%/templates',
            'cache' => self::hasTwigCache() ? '%kernel.cache_dir%/twig' : false,
        ]);
        $services = $container->services()->defaults()->autowire()->autoconfigure();
        $services->set(BlogController::class)->tag('controller.service_arguments');
        $services->set(PostRepository::class);
        $services->set(TwigExtension::class);
        $services->set(Connection::class)
            ->factory([DriverManager::class, 'getConnection'])
            ->args([['driver' => 'pdo_sqlite', 'path' => '%kernel.project_dir%/database.sqlite']]);
        $services->set(Configuration::class)
            ->factory([ORMSetup::class, 'createAttributeMetadataConfiguration'])
            ->args([['%kernel.project_dir%/src/Entity'], false, '%kernel.cache_dir%/proxies', service('cache.system')]);
        $services->set(EntityManager::class)
            ->args([service(Connection::class), service(Configuration::class)])
            // A worker must not answer from what it read for an earlier request.
            ->tag('kernel.reset', ['method' => 'clear']);
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $locales = ['_locale' => self::LOCALES];
        $routes->add('blog', '/{_locale}/blog/')
            ->controller(BlogController::class)
            ->requirements($locales)
            ->defaults(['page' => 1])
            ->methods(['GET']);
        $routes->add('blog_page', '/{_locale}/blog/page/{page}')
            ->controller(BlogController::class)
            ->requirements($locales + ['page' => '[1-9]\d{0,8}'])
            ->methods(['GET']);
    }

    /**
     * TWIG_CACHE=1 in the environment keeps compiled templates, as is usual; without it each request compiles its own.
     */
    private static function hasTwigCache(): bool
    {
        return (bool) getenv('TWIG_CACHE');
    }
}
