<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PHPUnit\Framework\TestCase;

/**
 * The blog's index in every language, with and without Twig's cache.
 */
final class BlogTest extends TestCase
{
    /** @var array<string, ServedApp> */
    private static array $apps = [];

    public static function setUpBeforeClass(): void
    {
        if (!extension_loaded('intl')) {
            self::markTestSkipped('needs the extension intl (Debian: php-intl)');
        }
        foreach (['Symfony/Bundle/TwigBundle', 'Symfony/Component/Translation', 'Doctrine/ORM'] as $library) {
            if (!is_file("/usr/share/php/$library/autoload.php")) {
                self::markTestSkipped('needs Symfony and Doctrine (Debian: php-symfony-framework-bundle '
                    . 'php-symfony-twig-bundle php-symfony-translation php-doctrine-orm)');
            }
        }
        foreach (['', '1'] as $cache) {
            $env = ['APP_ENV' => 'prod', 'APP_SECRET' => 'any', 'TWIG_CACHE' => $cache];
            self::$apps["TWIG_CACHE=$cache"] = ServedApp::php('blog/app/symfony', $env, 'seed.php');
        }
    }

    public static function tearDownAfterClass(): void
    {
        self::$apps = [];
    }

    public function testTheIndexIsInTheReadersLanguage(): void
    {
        $rows = [
            'ja' => ['最新の記事', '2024年2月29日', '投稿者: Jane Doe', '次へ'],
            'en' => ['Latest posts', 'February 29, 2024', 'by Jane Doe', 'Next'],
            'de' => ['Neueste Beiträge', '29. Februar 2024', 'von Jane Doe', 'Weiter'],
            'fr' => ['Derniers articles', '29 février 2024', 'par Jane Doe', 'Suivant'],
            'pt_BR' => ['Últimas postagens', '29 de fevereiro de 2024', 'por Jane Doe', 'Próxima'],
        ];
        foreach (self::$apps as $app) {
            foreach ($rows as $locale => $texts) {
                $answer = $app->ask('GET', "/$locale/blog/");
                self::assertSame(200, $answer->status, $app->log());
                self::assertSame('text/html; charset=UTF-8', $answer->headers['content-type']);
                foreach ($texts as $text) {
                    self::assertStringContainsString($text, $answer->body);
                }
            }
        }
    }

    public function testPagesAreWhatIsExpected(): void
    {
        $pages = [
            '/ja/blog/' => 'ja',
            '/en/blog/' => 'en',
            '/pt_BR/blog/page/3' => 'pt_BR-page-3',
            '/de/blog/?tag=lorem' => 'de-lorem',
        ];
        foreach (self::$apps as $app) {
            foreach ($pages as $target => $name) {
                $expected = (string) file_get_contents(__DIR__ . "/../../workloads/blog/expected/$name.html");
                $body = $app->ask('GET', $target)->body;
                if ($name === 'en') {
                    $body = preg_replace('{(<time [^>]*>)[^<]+</time>}', '$1⟨…⟩</time>', $body);
                }
                self::assertSame($expected, $body, $target);
            }
        }
    }

    public function testThirtyPostsAreOnThreePages(): void
    {
        foreach (self::$apps as $app) {
            $titles = [];
            foreach ([1, 2, 3] as $page) {
                $body = $app->ask('GET', "/en/blog/page/$page")->body;
                self::assertSame(10, preg_match_all('{<h2>(.+)</h2>}', $body, $matches));
                $titles = [...$titles, ...$matches[1]];
                self::assertSame($page < 3, str_contains($body, 'rel="next"'));
                self::assertSame($page > 1, str_contains($body, 'rel="prev"'));
            }
            self::assertCount(30, array_unique($titles));
            self::assertStringContainsString('No posts found.', $app->ask('GET', '/en/blog/page/4')->body);
        }
    }

    public function testATagsPostsAreTheOnesThatHaveIt(): void
    {
        foreach (self::$apps as $app) {
            $body = $app->ask('GET', '/en/blog/?tag=lorem')->body;
            self::assertStringContainsString('<h1>Posts about lorem</h1>', $body);
            $posts = substr_count($body, '<article');
            self::assertGreaterThan(0, $posts);
            // Every post shows the tag, beside whatever else it is about.
            self::assertSame($posts, substr_count($body, '>lorem</a>'));
            $body = $app->ask('GET', '/en/blog/?tag=' . urlencode('<b>'))->body;
            self::assertStringContainsString('Posts about &lt;b&gt;', $body);
            self::assertStringContainsString('No posts found.', $body);
        }
    }

    public function testEverythingElseIsNotFound(): void
    {
        foreach (self::$apps as $app) {
            foreach (['/', '/xx/blog/', '/en/blog/page/0', '/en/blog/page/x', '/en/'] as $target) {
                self::assertSame(404, $app->ask('GET', $target)->status, $target);
            }
            self::assertSame(405, $app->ask('POST', '/en/blog/')->status);
        }
    }
}
