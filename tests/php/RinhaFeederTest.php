<?php

declare(strict_types=1);

namespace Stampede\Tests;

use DateTimeImmutable;
use PHPUnit\Framework\TestCase;

/**
 * The generator's feeders, by a reading of the contest's rules that shares nothing with the applications.
 */
final class RinhaFeederTest extends TestCase
{
    /** @var array<string, string> */
    private static array $files = [];

    /** @var list<string> what is wrong with each body, after those before it */
    private static array $faults = [];

    /** @var list<int> how many names are taken after each body */
    private static array $taken = [];

    public static function setUpBeforeClass(): void
    {
        self::$files = self::generate();
        $taken = [];
        foreach (self::column('pessoas-payloads.tsv', 'payload') as $payload) {
            self::$faults[] = self::fault($payload, $taken);
            self::$taken[] = count($taken);
        }
    }

    public static function tearDownAfterClass(): void
    {
        self::$files = self::$faults = self::$taken = [];
    }

    public function testTheBytesAreAlwaysTheSame(): void
    {
        self::assertSame(self::$files, self::generate());
        self::assertSame(
            [
                'pessoas-payloads.tsv' => 'd3abd1d4e38d3added658c7518f8f4b321984b76855b666995930a4c835effd5',
                'termos-busca.tsv' => '566e5b25310e0325b593450ef8427b9be4150dfca42135ba5e0561cb7f6f0ff8',
            ],
            array_map(static fn (string $bytes): string => hash('sha256', $bytes), self::$files),
        );
    }

    public function testThePublishedNumberOfPeopleIsValid(): void
    {
        $payloads = self::column('pessoas-payloads.tsv', 'payload');
        self::assertCount(100_000, $payloads);
        $faults = array_count_values(array_slice(self::$faults, 0, 54_635));
        self::assertSame(46_576, $faults['none']);
        self::assertSame(46_576, self::$taken[54_634]);
        // Every rule is broken, none far more often than another.
        $kinds = [
            'duplicate', 'apelido missing', 'apelido null', 'apelido empty', 'apelido over-long',
            'apelido of a wrong type', 'nome missing', 'nome null', 'nome empty', 'nome over-long',
            'nome of a wrong type', 'nascimento missing', 'nascimento null', 'nascimento of a wrong type',
            'not in the form of a date', 'month 0', 'month 13', 'day 0', 'day 32', 'no such day',
            '29 February of a common year', 'stack of a wrong type', 'technology of a wrong type',
            'technology over-long',
        ];
        self::assertEqualsCanonicalizing(['none', ...$kinds], array_keys($faults));
        self::assertGreaterThanOrEqual(150, min(array_values($faults)));
    }

    public function testTheRestIsOfTheSameKind(): void
    {
        $valid = count(array_keys(self::$faults, 'none', true));
        self::assertSame(46_576 + 38_674, $valid);
    }

    public function testThreeOfFourTermsAreFound(): void
    {
        $terms = self::column('termos-busca.tsv', 't');
        self::assertCount(5_000, $terms);
        $texts = '';
        foreach (self::column('pessoas-payloads.tsv', 'payload') as $row => $payload) {
            if (self::$faults[$row] === 'none') {
                /** @var array{apelido: string, nome: string, stack?: list<string>|null} $person */
                $person = json_decode($payload, true);
                $texts .= implode("\n", [$person['apelido'], $person['nome'], ...$person['stack'] ?? []]) . "\n";
            }
        }
        $texts = mb_strtolower($texts, 'UTF-8');
        $found = 0;
        foreach ($terms as $term) {
            self::assertNotSame('', $term);
            self::assertTrue(mb_check_encoding($term, 'UTF-8'));
            $found += str_contains($texts, mb_strtolower($term, 'UTF-8')) ? 1 : 0;
        }
        self::assertSame(3_750, $found);
    }

    /**
     * What is wrong with a body, after those that were valid before it.
     *
     * @param array<true> $taken
     */
    private static function fault(string $payload, array &$taken): string
    {
        $sent = json_decode($payload, false, 8, JSON_THROW_ON_ERROR);
        self::assertIsObject($sent);
        $members = get_object_vars($sent);
        $types = ['apelido' => 'string', 'nome' => 'string', 'nascimento' => 'string', 'stack' => 'array'];
        foreach ($types as $name => $type) {
            if (!in_array(gettype($members[$name] ?? null), [$type, 'NULL'], true)) {
                return $name . ' of a wrong type';
            }
        }
        foreach ((array) ($members['stack'] ?? []) as $technology) {
            if (gettype($technology) !== 'string') {
                return 'technology of a wrong type';
            }
            if (preg_match('/^.{33}/us', $technology) === 1) {
                return 'technology over-long';
            }
        }
        foreach (['apelido' => 32, 'nome' => 100, 'nascimento' => 10] as $name => $most) {
            if (!array_key_exists($name, $members)) {
                return "$name missing";
            }
            if ($members[$name] === null) {
                return "$name null";
            }
            if ($name !== 'nascimento' && $members[$name] === '') {
                return "$name empty";
            }
            $text = is_string($members[$name]) ? $members[$name] : '';
            if ($name !== 'nascimento' && preg_match('/^.{' . ($most + 1) . '}/us', $text) === 1) {
                return "$name over-long";
            }
        }
        $date = is_string($members['nascimento']) ? $members['nascimento'] : '';
        if (preg_match('/^(....)-(..)-(..)$/D', $date, $parts) !== 1 || !ctype_digit(str_replace('-', '', $date))) {
            return 'not in the form of a date';
        }
        foreach ([['month', 2, ['00', '13']], ['day', 3, ['00', '32']]] as [$unit, $part, $impossible]) {
            if (in_array($parts[$part], $impossible, true)) {
                return "$unit " . (int) $parts[$part];
            }
        }
        // A day beyond its month's last is taken for one of the next month.
        if ((new DateTimeImmutable($date))->format('Y-m-d') !== $date) {
            return $parts[2] . $parts[3] === '0229' ? '29 February of a common year' : 'no such day';
        }
        if (isset($taken[$members['apelido']])) {
            return 'duplicate';
        }
        $taken[$members['apelido']] = true;
        return 'none';
    }

    /**
     * @return list<string>
     */
    private static function column(string $file, string $name): array
    {
        $lines = explode("\n", rtrim(self::$files[$file], "\n"));
        self::assertSame($name, array_shift($lines));
        return $lines;
    }

    /**
     * @return array<string, string>
     */
    private static function generate(): array
    {
        $folder = sys_get_temp_dir() . '/stampede-rinha-' . bin2hex(random_bytes(4));
        mkdir($folder);
        Process::run([PHP_BINARY, __DIR__ . '/../../workloads/rinha/generate.php', $folder]);
        $files = [];
        foreach (['pessoas-payloads.tsv', 'termos-busca.tsv'] as $file) {
            $files[$file] = (string) file_get_contents("$folder/$file");
            unlink("$folder/$file");
        }
        rmdir($folder);
        return $files;
    }
}
