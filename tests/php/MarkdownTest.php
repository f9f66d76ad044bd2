<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PHPUnit\Framework\TestCase;

/**
 * What the end point answers, good and bad.
 */
final class MarkdownTest extends TestCase
{
    /** @var array<string, ServedApp> */
    private static array $apps = [];

    public static function setUpBeforeClass(): void
    {
        if (!is_file('/usr/share/php/Parsedown/autoload.php')) {
            self::markTestSkipped('needs Parsedown (Debian: php-parsedown)');
        }
        self::$apps['php'] = ServedApp::php('markdown/app/php');
        if (is_file('/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php')) {
            $env = ['APP_ENV' => 'prod', 'APP_SECRET' => 'any'];
            self::$apps['symfony'] = ServedApp::php('markdown/app/symfony', $env);
        }
    }

    public static function tearDownAfterClass(): void
    {
        self::$apps = [];
    }

    /**
     * @return iterable<string, array{string, string, string, int, array<string, string>}>
     */
    public static function requests(): iterable
    {
        $requests = [
            'heading and emphasis' => [
                'POST', "{\"data\": \"# h1\\n_test_\\n__test__\\n\"}", 200,
                ['result' => "<h1>h1</h1>\n<p><em>test</em>\n<strong>test</strong></p>"],
            ],
            'no data' => ['POST', '{}', 200, ['result' => '']],
            'empty data' => ['POST', '{"data": ""}', 200, ['result' => '']],
            "name's case" => ['POST', '{"Data": "x"}', 200, ['result' => '']],
            'another method' => ['GET', '', 400, ['error' => 'send a POST request']],
            'no body' => ['POST', '', 400, ['error' => 'the body is empty']],
            'not JSON' => ['POST', '# h1', 400, ['error' => 'the body is not a JSON object']],
            'not UTF-8' => ['POST', "{\"data\": \"\xff\"}", 400, ['error' => 'the body is not a JSON object']],
            'JSON null' => ['POST', 'null', 400, ['error' => 'the body is not a JSON object']],
            'JSON array' => ['POST', '[]', 400, ['error' => 'the body is not a JSON object']],
            'JSON number' => ['POST', '3', 400, ['error' => 'the body is not a JSON object']],
            'data is null' => ['POST', '{"data": null}', 400, ['error' => 'data is not a string']],
            'data is a list' => ['POST', '{"data": []}', 400, ['error' => 'data is not a string']],
        ];
        foreach (['php', 'symfony'] as $app) {
            foreach ($requests as $name => [$method, $body, $status, $message]) {
                yield "$app: $name" => [$app, $method, $body, $status, $message];
            }
        }
    }

    /**
     * @dataProvider requests
     *
     * @param array<string, string> $message
     */
    public function testAnswers(string $app, string $method, string $body, int $status, array $message): void
    {
        $served = self::$apps[$app] ?? self::markTestSkipped('needs Symfony (Debian: php-symfony-framework-bundle)');
        $answer = $served->ask($method, '/', $body, ['Content-Type' => 'application/json']);
        self::assertSame([$status, $message], [$answer->status, $answer->json()], $served->log());
        self::assertSame('application/json', $answer->headers['content-type']);
    }

    public function testSymfonyEscapesWhatHtmlWouldRead(): void
    {
        $served = self::$apps['symfony'] ?? self::markTestSkipped('needs Symfony (Debian: php-symfony-framework-bundle)');
        $sent = "{\"data\": \"# h1\\n_test_\\n__test__\\n\"}";
        $body = $served->ask('POST', '/', $sent, ['Content-Type' => 'application/json'])->body;
        self::assertSame(153, strlen($body), 'as published');
    }
}
