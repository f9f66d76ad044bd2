<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PDO;
use PHPUnit\Framework\TestCase;
use stdClass;

/**
 * The contest's API gives the same answers on plain PHP, on Laravel and in Go.
 */
final class RinhaTest extends TestCase
{
    private const APPS = ['php', 'laravel', 'go'];

    private const ID = '/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/';

    private static ?PostgresServer $server = null;

    private static ?PDO $database = null;

    private static ?stdClass $missing = null;

    /** @var array<string, ServedApp> */
    private static array $apps = [];

    public static function setUpBeforeClass(): void
    {
        self::$server = PostgresServer::start();
        self::$database = self::$server->connect();
        self::$database->exec((string) file_get_contents(__DIR__ . '/../../workloads/rinha/schema.sql'));
    }

    public static function tearDownAfterClass(): void
    {
        self::$apps = [];
        self::$database = null;
        self::$server = null;
    }

    protected function setUp(): void
    {
        self::$database?->exec('TRUNCATE pessoas');
    }

    /**
     * @return iterable<string, array{string}>
     */
    public static function apps(): iterable
    {
        foreach (self::APPS as $app) {
            yield $app => [$app];
        }
    }

    /**
     * @return iterable<string, array{string, string, int}>
     */
    public static function people(): iterable
    {
        $rows = [
            'all members' => [[], 201],
            'stack missing' => [['stack' => self::missing()], 201],
            'stack null' => [['stack' => null], 201],
            'stack empty' => [['stack' => []], 201],
            'technology empty' => [['stack' => ['']], 201],
            'nickname of 32 characters' => [['apelido' => str_repeat('ã', 32)], 201],
            'nickname of 33' => [['apelido' => str_repeat('ã', 33)], 422],
            'nickname empty' => [['apelido' => ''], 422],
            'nickname blank' => [['apelido' => " \t\r\n\v"], 422],
            'nickname with spaces' => [['apelido' => ' a '], 201],
            'nickname with a zero character' => [['apelido' => "a\0b"], 422],
            'nickname null' => [['apelido' => null], 422],
            'nickname missing' => [['apelido' => self::missing()], 422],
            'nickname a number' => [['apelido' => 1], 400],
            'nickname true' => [['apelido' => true], 400],
            'nickname a list' => [['apelido' => ['a']], 400],
            'nickname an empty object' => [['apelido' => (object) []], 400],
            'name of 100 characters' => [['nome' => str_repeat('é', 100)], 201],
            'name of 101' => [['nome' => str_repeat('é', 101)], 422],
            'name empty' => [['nome' => ''], 422],
            'name null' => [['nome' => null], 422],
            'name missing' => [['nome' => self::missing()], 422],
            'name with a zero character' => [['nome' => "\0a"], 422],
            'name a number' => [['nome' => 1.5], 400],
            'leap day' => [['nascimento' => '2000-02-29'], 201],
            'leap day of a common year' => [['nascimento' => '2001-02-29'], 422],
            'leap day of 1900' => [['nascimento' => '1900-02-29'], 422],
            'first day' => [['nascimento' => '0001-01-01'], 201],
            'year 0' => [['nascimento' => '0000-01-01'], 422],
            'month 0' => [['nascimento' => '2000-00-01'], 422],
            'month 13' => [['nascimento' => '2000-13-01'], 422],
            'day 0' => [['nascimento' => '2000-01-00'], 422],
            'day 32' => [['nascimento' => '2000-01-32'], 422],
            '31 April' => [['nascimento' => '2000-04-31'], 422],
            'day before month' => [['nascimento' => '05/12/2000'], 422],
            'date without zeros' => [['nascimento' => '2000-1-2'], 422],
            'date with a time' => [['nascimento' => '2000-01-02T00:00:00'], 422],
            'date with a line break' => [['nascimento' => "2000-01-02\n"], 422],
            'date with a space' => [['nascimento' => ' 2000-01-02'], 422],
            'year of five digits' => [['nascimento' => '20000-01-02'], 422],
            'birthday null' => [['nascimento' => null], 422],
            'birthday a number' => [['nascimento' => 20000101], 400],
            'stack a text' => [['stack' => 'PHP'], 400],
            'stack a number' => [['stack' => 0], 400],
            'stack false' => [['stack' => false], 400],
            'stack an object' => [['stack' => (object) ['a' => 'PHP']], 400],
            'stack an empty object' => [['stack' => (object) []], 400],
            'technology a number' => [['stack' => ['PHP', 1]], 400],
            'technology null' => [['stack' => ['PHP', null]], 400],
            'technology a list' => [['stack' => [['PHP']]], 400],
            'technology of 32 characters' => [['stack' => [str_repeat('ü', 32)]], 201],
            'technology of 33' => [['stack' => ['PHP', str_repeat('ü', 33)]], 422],
            'technology with a zero character' => [['stack' => ["\0"]], 422],
            'a wrong type and a broken rule' => [['apelido' => '', 'stack' => 1], 400],
            'another member' => [['idade' => 7], 201],
        ];
        $bodies = [
            'no body' => ['', 400],
            'not JSON' => ['{', 400],
            'JSON and more' => ['{} {}', 400],
            'JSON null' => ['null', 400],
            'a list' => ['[]', 400],
            'a number' => ['1', 400],
            'an empty object' => ['{}', 422],
            'not UTF-8' => ["{\"apelido\": \"\xff\", \"nome\": \"a\", \"nascimento\": \"2000-01-01\"}", 400],
            'half a pair of surrogates' => ['{"apelido": "\ud83d", "nome": "a", "nascimento": "2000-01-01"}', 400],
            'the other half' => ['{"apelido": "\ude00\\n", "nome": "a", "nascimento": "2000-01-01"}', 400],
            'a pair' => ['{"apelido": "\ud83d\uDE00", "nome": "a", "nascimento": "2000-01-01"}', 201],
            'no pair, but a backslash' => ['{"apelido": "\\\\ud83d", "nome": "a", "nascimento": "2000-01-01"}', 201],
            'a name that begins with a zero character' => [self::named('"\u0000a": 1'), 400],
            'the same in a list in a member' => [self::named('"b": [{"c": {}, "\u0000": 1}]'), 400],
            'a name that ends with one' => [self::named('"a\u0000": 1'), 201],
            'a text that begins with one, in another member' => [self::named('"b": ["\u0000", {"c": "\u0000"}]'), 201],
            'an empty name' => [self::named('"": 1'), 201],
            '511 levels' => [self::named('"b": ' . str_repeat('[', 510) . str_repeat(']', 510)), 201],
            '512 levels' => [self::named('"b": ' . str_repeat('[', 511) . str_repeat(']', 511)), 400],
            '511 levels of objects' => [self::named('"b": ' . str_repeat('{"a":', 510) . '1' . str_repeat('}', 510)), 201],
            '512 levels of objects' => [self::named('"b": ' . str_repeat('{"a":', 511) . '1' . str_repeat('}', 511)), 400],
            'many lists beside each other' => [self::named('"b": [' . str_repeat('[], ', 600) . '[]]'), 201],
            'the last of two members counts' => [
                '{"apelido": 1, "apelido": "a", "nome": "a", "nascimento": "2000-01-01"}', 201,
            ],
        ];
        foreach ($rows as $name => [$members, $status]) {
            $bodies[$name] = [self::body($members), $status];
        }
        foreach (self::APPS as $app) {
            foreach ($bodies as $name => [$body, $status]) {
                yield "$app: $name" => [$app, $body, $status];
            }
        }
    }

    /**
     * @dataProvider people
     */
    public function testCreates(string $app, string $body, int $status): void
    {
        $answer = self::app($app)->ask('POST', '/pessoas', $body, ['Content-Type' => 'application/json']);
        self::assertSame($status, $answer->status);
        self::assertSame('', $answer->body);
        self::assertSame($status === 201, isset($answer->headers['location']));
        self::assertSame($status === 201 ? '1' : '0', self::app($app)->ask('GET', '/contagem-pessoas')->body);
    }

    /**
     * @dataProvider apps
     */
    public function testANicknameIsTakenOnce(string $app): void
    {
        foreach (['x' => 201, 'X' => 201, 'y' => 201] as $nickname => $status) {
            self::assertSame($status, self::create($app, ['apelido' => $nickname])->status);
            self::assertSame(422, self::create($app, ['apelido' => $nickname, 'nome' => 'other'])->status);
        }
        self::assertSame('3', self::app($app)->ask('GET', '/contagem-pessoas')->body);
    }

    /**
     * @dataProvider apps
     */
    public function testShowsWhomItCreated(string $app): void
    {
        $texts = "é/\"\\<&>'\u{2028}\u{1}\u{1f600}";
        foreach ([['PHP', $texts], [], null] as $number => $stack) {
            $sent = ['apelido' => "a$number", 'nome' => $texts, 'nascimento' => '2000-02-29', 'stack' => $stack];
            $location = self::create($app, $sent)->headers['location'] ?? '';
            self::assertStringStartsWith('/pessoas/', $location);
            $id = substr($location, strlen('/pessoas/'));
            self::assertMatchesRegularExpression(self::ID, $id);
            $answer = self::app($app)->ask('GET', $location);
            self::assertSame(200, $answer->status);
            self::assertSame('application/json', $answer->headers['content-type']);
            // The three agree on bytes too.
            $flags = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR;
            self::assertSame(json_encode(['id' => $id] + $sent, $flags), $answer->body);
            self::assertSame(200, self::app($app)->ask('GET', '/pessoas/' . strtoupper($id))->status);
        }
    }

    /**
     * @dataProvider apps
     */
    public function testKnowsNobodyElse(string $app): void
    {
        $unknown = ['00000000-0000-0000-0000-000000000000', 'x', '1', "%00", '00000000-0000-0000-0000-00000000000g'];
        foreach ($unknown as $id) {
            $answer = self::app($app)->ask('GET', "/pessoas/$id");
            self::assertSame([404, ''], [$answer->status, $answer->body], $id);
        }
        self::assertSame(404, self::app($app)->ask('GET', '/')->status);
        self::assertSame(405, self::app($app)->ask('DELETE', '/pessoas')->status);
        self::assertSame(405, self::app($app)->ask('POST', '/contagem-pessoas')->status);
    }

    /**
     * @dataProvider apps
     */
    public function testSearches(string $app): void
    {
        self::create($app, ['apelido' => 'Zé', 'nome' => 'Ana Ávila', 'stack' => ['PHP', 'C#']]);
        self::create($app, ['apelido' => 'b_b', 'nome' => '100%', 'stack' => ['Go\\', 'JavaScript']]);
        self::create($app, ['apelido' => 'c', 'nome' => 'php developer', 'stack' => null]);
        $rows = [
            'php' => ['Zé', 'c'], 'PHP' => ['Zé', 'c'], 'zÉ' => ['Zé'], 'ávi' => ['Zé'], 'ÁVI' => ['Zé'], 'avi' => [],
            'script' => ['b_b'], '_' => ['b_b'], '%' => ['b_b'], '\\' => ['b_b'], '0%' => ['b_b'], 'b%b' => [],
            'PHPC#' => [], 'ZéAna' => [], 'c#' => ['Zé'], '"' => [], '[' => [], 'null' => [], 'e' => ['c'],
            "x'y" => [], ' ' => ['Zé', 'c'], '0' => ['b_b'], str_repeat('long', 100) => [],
        ];
        foreach ($rows as $term => $nicknames) {
            $answer = self::app($app)->ask('GET', '/pessoas?t=' . urlencode((string) $term));
            self::assertSame([200, 'application/json'], [$answer->status, $answer->headers['content-type']]);
            $found = $answer->json();
            self::assertIsArray($found);
            self::assertEqualsCanonicalizing($nicknames, array_column($found, 'apelido'), "search for $term");
        }
        $found = self::app($app)->ask('GET', '/pessoas?t=javascript')->json();
        self::assertIsArray($found);
        self::assertIsArray($found[0]);
        self::assertSame(['id', 'apelido', 'nome', 'nascimento', 'stack'], array_keys($found[0]));
        self::assertSame(['Go\\', 'JavaScript'], $found[0]['stack']);
    }

    /**
     * @dataProvider apps
     */
    public function testFindsAtMostFifty(string $app): void
    {
        self::$database?->exec(
            "INSERT INTO pessoas (apelido, nome, nascimento) SELECT 'p' || n, 'Same', '2000-01-01'
             FROM generate_series(1, 60) n"
        );
        $found = self::app($app)->ask('GET', '/pessoas?t=same')->json();
        self::assertIsArray($found);
        self::assertCount(50, $found);
        self::assertSame('60', self::app($app)->ask('GET', '/contagem-pessoas')->body);
    }

    /**
     * @dataProvider apps
     */
    public function testRefusesASearchWithoutATerm(string $app): void
    {
        foreach (['', '?', '?t', '?t=', '?T=a', '?t[]=a', '?q=a', '?t=%ff', '?t=%00'] as $query) {
            $answer = self::app($app)->ask('GET', "/pessoas$query");
            self::assertSame([400, ''], [$answer->status, $answer->body], $query);
        }
    }

    /**
     * @dataProvider apps
     */
    public function testCountsAsPlainText(string $app): void
    {
        $answer = self::app($app)->ask('GET', '/contagem-pessoas');
        self::assertSame([200, '0'], [$answer->status, $answer->body]);
        self::assertStringStartsWith('text/plain', $answer->headers['content-type']);
    }

    public function testASearchUsesTheTrigramIndex(): void
    {
        self::$database?->exec(
            "INSERT INTO pessoas (apelido, nome, nascimento)
             SELECT 'p' || n, md5(n::text), '2000-01-01' FROM generate_series(1, 5000) n; ANALYZE pessoas"
        );
        $plan = self::$database?->query(
            "EXPLAIN SELECT id FROM pessoas WHERE busca LIKE lower('%c4ca4238%' COLLATE \"und-x-icu\") LIMIT 50"
        );
        self::assertNotFalse($plan);
        self::assertStringContainsString('pessoas_busca', implode("\n", $plan?->fetchAll(PDO::FETCH_COLUMN) ?? []));
    }

    private static function app(string $name): ServedApp
    {
        $env = ['DATABASE_URL' => self::$server?->url() ?? ''];
        return self::$apps[$name] ??= match ($name) {
            'php' => ServedApp::php('rinha/app/php', $env),
            'laravel' => is_file('/usr/share/php/Illuminate/autoload.php')
                ? ServedApp::php('rinha/app/laravel', $env)
                : self::markTestSkipped('needs Laravel (Debian: php-laravel-framework)'),
            'go' => ServedApp::go('rinha/app/go', $env),
            default => self::fail("there is no app $name"),
        };
    }

    /**
     * @param array<string, mixed> $members
     */
    private static function create(string $app, array $members): HttpAnswer
    {
        return self::app($app)->ask('POST', '/pessoas', self::body($members), ['Content-Type' => 'application/json']);
    }

    /**
     * A valid person but for these members.
     *
     * @param array<string, mixed> $members
     */
    private static function body(array $members): string
    {
        $valid = ['apelido' => 'a', 'nome' => 'b', 'nascimento' => '2000-01-31', 'stack' => ['PHP', 'Go']];
        $person = array_filter($members + $valid, static fn (mixed $value): bool => $value !== self::missing());
        return json_encode($person, JSON_THROW_ON_ERROR);
    }

    /**
     * A valid person with another member, as JSON.
     */
    private static function named(string $member): string
    {
        return "{{$member}, \"apelido\": \"a\", \"nome\": \"b\", \"nascimento\": \"2000-01-31\"}";
    }

    /**
     * Stands for a member that is not sent.
     */
    private static function missing(): object
    {
        return self::$missing ??= new stdClass();
    }
}
