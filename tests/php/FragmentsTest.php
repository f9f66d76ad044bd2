<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PHPUnit\Framework\TestCase;

/**
 * The page of a dozen sub-requests and the one without are the same.
 */
final class FragmentsTest extends TestCase
{
    public function testEveryEndPoint(): void
    {
        if (!is_file('/usr/share/php/Symfony/Bundle/TwigBundle/autoload.php')) {
            self::markTestSkipped('needs Symfony (Debian: php-symfony-framework-bundle php-symfony-twig-bundle)');
        }
        $app = ServedApp::php('fragments/app/symfony', ['APP_ENV' => 'prod', 'APP_SECRET' => 'any']);
        $page = $app->ask('GET', '/');
        self::assertSame(200, $page->status, $app->log());
        self::assertSame('text/html; charset=UTF-8', $page->headers['content-type']);
        self::assertSame(12, substr_count($page->body, '<section'));
        self::assertSame(60, substr_count($page->body, '<li>'));
        self::assertStringEqualsFile(__DIR__ . '/../../workloads/fragments/expected/page.html', $page->body);
        self::assertSame($page->body, $app->ask('GET', '/plain')->body);
        self::assertSame(404, $app->ask('GET', '/block')->status);
        // A fragment is for whoever has its signature.
        self::assertSame(403, $app->ask('GET', '/_fragment?_path=name%3Dmenu')->status);
        self::assertSame(405, $app->ask('POST', '/')->status);
    }
}
