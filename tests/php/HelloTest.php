<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PHPUnit\Framework\TestCase;

/**
 * The same greeting from plain PHP, both frameworks, Go and gin.
 */
final class HelloTest extends TestCase
{
    /** @var array<string, array{string, array<string, string>}> the library that it needs, and its environment */
    private const APPS = [
        'php' => ['', []],
        'symfony' => ['Symfony/Bundle/FrameworkBundle', ['APP_ENV' => 'prod', 'APP_SECRET' => 'any']],
        'laravel' => ['Illuminate', ['APP_KEY' => 'base64:U3RhbXBlZGUncyBoZWxsbyB3b3JrbG9hZCwgbm8ga2U=']],
        'go' => ['', []],
        'gin' => ['', []],
    ];

    /**
     * @return iterable<string, array{string}>
     */
    public static function apps(): iterable
    {
        foreach (array_keys(self::APPS) as $app) {
            yield $app => [$app];
        }
    }

    /**
     * @dataProvider apps
     */
    public function testEveryEndPoint(string $app): void
    {
        [$library, $env] = self::APPS[$app];
        if ($library !== '' && !is_file("/usr/share/php/$library/autoload.php")) {
            self::markTestSkipped("needs /usr/share/php/$library "
                . '(Debian: php-symfony-framework-bundle, php-laravel-framework)');
        }
        $folder = "hello/app/$app";
        $served = in_array($app, ['go', 'gin'], true) ? ServedApp::go($folder, $env) : ServedApp::php($folder, $env);
        $rows = [
            '/' => [200, "Hello, World!\n"],
            '/?name=Ada' => [200, "Hello, Ada!\n"],
            '/?name=Zo%C3%AB+%3Cb%3E' => [200, "Hello, Zoë <b>!\n"],
            '/?name=' => [200, "Hello, !\n"],
            '/?other=1' => [200, "Hello, World!\n"],
            '/elsewhere' => [404, "Nothing here.\n"],
        ];
        foreach ($rows as $target => [$status, $text]) {
            $answer = $served->ask('GET', $target);
            self::assertSame([$status, $text], [$answer->status, $answer->body], "$target: {$served->log()}");
            // What is greeted is whatever was sent: nothing may take it for HTML.
            self::assertSame(
                'text/plain;charset=utf-8',
                str_replace(' ', '', strtolower($answer->headers['content-type'])),
            );
        }
        foreach (['gzip', 'deflate, gzip;q=1.0', '', 'deflate'] as $accepted) {
            $headers = $accepted === '' ? [] : ['Accept-Encoding' => $accepted];
            $answer = $served->ask('GET', '/gzip?name=Ada', '', $headers);
            $isPacked = str_contains($accepted, 'gzip');
            self::assertSame($isPacked ? 'gzip' : null, $answer->headers['content-encoding'] ?? null, $served->log());
            self::assertSame("Hello, Ada!\n", $isPacked ? gzdecode($answer->body) : $answer->body);
            self::assertSame([200, 'Accept-Encoding'], [$answer->status, $answer->headers['vary']]);
            self::assertStringStartsWith('text/plain', $answer->headers['content-type']);
        }
    }
}
