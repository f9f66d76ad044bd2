<?php

declare(strict_types=1);

namespace Stampede\Tests;

use Nyholm\Psr7\Factory\Psr17Factory;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;

use function hello;

/**
 * The handlers that a long-lived worker keeps answer as the front controllers do, one request after the other.
 */
final class HandlerTest extends TestCase
{
    /** @var list<string> */
    private array $copies = [];

    public static function setUpBeforeClass(): void
    {
        $autoload = '/usr/share/php/Nyholm/Psr7/autoload.php';
        is_file($autoload) || self::markTestSkipped('needs Nyholm PSR-7 (Debian: php-nyholm-psr7)');
        require_once $autoload;
    }

    protected function tearDown(): void
    {
        foreach ($this->copies as $copy) {
            Process::run(['rm', '-r', $copy]);
        }
    }

    public function testHello(): void
    {
        $handler = $this->handler('hello', false);
        foreach ([1, 2] as $round) {
            $answer = $handler('GET', '/?name=Ada');
            self::assertSame('text/plain;charset=UTF-8', $answer->getHeaderLine('Content-Type'));
            self::assertSame("Hello, Ada!\n", (string) $answer->getBody());
            self::assertSame("Hello, World!\n", (string) $handler('GET', '/')->getBody());
            self::assertSame(404, $handler('GET', '/elsewhere')->getStatusCode());
        }
        require_once __DIR__ . '/../../workloads/hello/app/php/function.php';
        $request = (new Psr17Factory())->createServerRequest('GET', 'http://127.0.0.1/?name=Bob');
        $answer = hello($request->withQueryParams(['name' => 'Bob']));
        self::assertSame("Hello, Bob!\n", (string) $answer->getBody());
    }

    public function testMix(): void
    {
        $handler = $this->handler('mix', true);
        foreach ([1, 2] as $round) {
            self::assertSame('{"primes":1229}', (string) $handler('GET', '/compute')->getBody());
            self::assertSame('{"records":20000,"bytes":1280000}', (string) $handler('GET', '/allocate')->getBody());
            self::assertSame('{"milliseconds":50}', (string) $handler('GET', '/wait')->getBody());
            $answer = $handler('GET', '/query');
            self::assertSame('application/json', $answer->getHeaderLine('Content-Type'));
            self::assertSame('{"customers":10,"total":171828}', (string) $answer->getBody());
            self::assertSame(404, $handler('GET', '/')->getStatusCode());
            self::assertSame(405, $handler('POST', '/query')->getStatusCode());
        }
    }

    public function testRandomRow(): void
    {
        $handler = $this->handler('random-row', true);
        foreach ([1, 2] as $round) {
            $answer = $handler('GET', '/row/77');
            self::assertSame('application/json', $answer->getHeaderLine('Content-Type'));
            self::assertSame('{"id":77,"name":"record 77","number":9343}', (string) $answer->getBody());
            self::assertSame(200, $handler('GET', '/row')->getStatusCode());
            self::assertSame(404, $handler('GET', '/row/100001')->getStatusCode());
            self::assertSame(405, $handler('POST', '/row/1')->getStatusCode());
        }
        self::assertSame(200, $handler('POST', '/row')->getStatusCode());
    }

    public function testRinha(): void
    {
        $server = PostgresServer::start();
        $server->connect()->exec((string) file_get_contents(__DIR__ . '/../../workloads/rinha/schema.sql'));
        putenv('DATABASE_URL=' . $server->url());
        $handler = $this->handler('rinha', false);
        $person = '{"apelido":"a","nome":"Zé","nascimento":"2000-02-29","stack":["PHP"]}';
        $created = $handler('POST', '/pessoas', $person);
        self::assertSame(201, $created->getStatusCode());
        self::assertSame(422, $handler('POST', '/pessoas', $person)->getStatusCode());
        self::assertSame(400, $handler('POST', '/pessoas', '[]')->getStatusCode());
        self::assertStringEndsWith(
            substr($person, 1),
            (string) $handler('GET', $created->getHeaderLine('Location'))->getBody(),
        );
        self::assertStringEndsWith(substr($person, 1) . ']', (string) $handler('GET', '/pessoas?t=Z%C3%89')->getBody());
        self::assertSame(400, $handler('GET', '/pessoas')->getStatusCode());
        self::assertSame('1', (string) $handler('GET', '/contagem-pessoas')->getBody());
        self::assertSame(404, $handler('GET', '/')->getStatusCode());
        putenv('DATABASE_URL');
        unset($handler);
        gc_collect_cycles();
    }

    /**
     * @return callable(string, string, string=): ResponseInterface
     */
    private function handler(string $workload, bool $hasSeed): callable
    {
        $folder = __DIR__ . "/../../workloads/$workload/app/php";
        if ($hasSeed) {
            $copy = sys_get_temp_dir() . '/stampede-app-' . bin2hex(random_bytes(4));
            Process::run(['cp', '-r', $folder, $copy]);
            $this->copies[] = $copy;
            Process::run([PHP_BINARY, "$copy/seed.php"]);
            $folder = $copy;
        }
        $handler = require "$folder/handler.php";
        self::assertIsCallable($handler);
        return static function (string $method, string $target, string $body = '') use ($handler): ResponseInterface {
            $factory = new Psr17Factory();
            $request = $factory->createServerRequest($method, "http://127.0.0.1$target")
                ->withBody($factory->createStream($body));
            parse_str($request->getUri()->getQuery(), $query);
            self::assertInstanceOf(ServerRequestInterface::class, $request);
            $answer = $handler($request->withQueryParams($query));
            self::assertInstanceOf(ResponseInterface::class, $answer);
            return $answer;
        };
    }
}
