<?php

declare(strict_types=1);

// Writes the feeders of the contest's load into a folder: php generate.php FOLDER
//
// pessoas-payloads.tsv   100,000 bodies for POST /pessoas. Of the first 54,635, as many as the published load sends,
//                        46,576 are valid with a nickname of their own; the others break each rule equally often.
// termos-busca.tsv       5,000 terms for GET /pessoas?t=. Three of four are found in valid people, the others in none.
//
// The same bytes each time: Mersenne Twister has a fixed seed and mt_rand() a fixed scaling since PHP 7.1.

const SEED = 2023;

/** Bodies and, among them, valid ones: of the published load, and of the rest in the same proportion. */
const BLOCKS = [[54_635, 46_576], [45_365, 38_674]];

const TERMS = 5_000;

const GIVEN_NAMES = [
    'Ana', 'André', 'Antônia', 'Beatriz', 'Bruno', 'Caíque', 'Cecília', 'Célia', 'Cláudio', 'Davi', 'Débora',
    'Eduarda', 'Fábio', 'Fernanda', 'Gabriel', 'Helena', 'Heloísa', 'Íris', 'Isabela', 'João', 'José',
    'Júlia', 'Larissa', 'Luís', 'Luiza', 'Márcio', 'Maria', 'Mônica', 'Otávio', 'Patrícia', 'Pedro', 'Rafael',
    'Raíssa', 'Sérgio', 'Sofia', 'Thaís', 'Valentina', 'Vinícius', 'Vitória', 'Zuleica', "Joana d'Arc",
    '美咲', 'Łukasz', 'Дарья',
];

const FAMILY_NAMES = [
    'Almeida', 'Alves', 'Araújo', 'Barbosa', 'Cardoso', 'Carvalho', 'Conceição', 'Corrêa', 'Costa', 'Dias',
    'Fernandes', 'Gonçalves', 'Guimarães', 'Lima', 'Lopes', 'Magalhães', 'Martins', 'Melo', 'Moreira',
    'Nascimento', 'Oliveira', 'Pereira', 'Ribeiro', 'Rocha', 'Santos', 'Silva', 'Simões', 'Souza', 'Teixeira',
    'Vieira', 'Müller', "O'Neill",
];

const TECHNOLOGIES = [
    'Assembly', 'Bash', 'C', 'C#', 'C++', 'Clojure', 'COBOL', 'Crystal', 'Dart', 'Delphi', 'Elixir', 'Erlang', 'F#',
    'Fortran', 'Go', 'Haskell', 'Java', 'JavaScript', 'Julia', 'Kotlin', 'Lisp', 'Lua', 'MySQL', 'Node', 'OCaml',
    'Oracle', 'Perl', 'PHP', 'Postgres', 'Prolog', 'Python', 'R', 'Ruby', 'Rust', 'Scala', 'Swift', 'TypeScript',
    'Zig', '100%_pur\\o',
];

/**
 * @template T
 *
 * @param non-empty-list<T> $values
 *
 * @return T
 */
function any(array $values): mixed
{
    return $values[mt_rand(0, count($values) - 1)];
}

function letters(int $count): string
{
    $text = '';
    for ($i = 0; $i < $count; $i++) {
        $text .= chr(mt_rand(ord('a'), ord('z')));
    }
    return $text;
}

/**
 * A nickname that no other person has: its number is the part after the dot. A few are as long as may be, in characters
 * of more than one byte.
 */
function nickname(int $number): string
{
    $ending = '.' . base_convert((string) $number, 10, 36);
    $beginning = mt_rand(0, 49) === 0 ? str_repeat('ã', 32 - strlen($ending)) : letters(mt_rand(3, 12));
    return $beginning . $ending;
}

function name(): string
{
    $name = any(GIVEN_NAMES) . ' ' . any(FAMILY_NAMES);
    if (mt_rand(0, 2) > 0) {
        $name .= ' ' . any(FAMILY_NAMES);
    }
    return mt_rand(0, 99) === 0 ? $name . str_repeat('é', 100 - mb_strlen($name, 'UTF-8')) : $name;
}

function birthday(): string
{
    if (mt_rand(0, 99) === 0) {
        return sprintf('%04d-02-29', 4 * mt_rand(1904 / 4, 2004 / 4));
    }
    return sprintf('%04d-%02d-%02d', mt_rand(1940, 2007), mt_rand(1, 12), mt_rand(1, 28));
}

/** @return list<string> */
function technologies(): array
{
    $stack = [];
    for ($count = mt_rand(1, 6); $count > 0; $count--) {
        $stack[] = any(TECHNOLOGIES);
    }
    if (mt_rand(0, 99) === 0) {
        $stack[] = str_repeat('ü', 32);
    }
    return $stack;
}

/** @return array{apelido: string, nome: string, nascimento: string, stack?: list<string>|null} */
function person(int $number): array
{
    $person = ['apelido' => nickname($number), 'nome' => name(), 'nascimento' => birthday()];
    return match (mt_rand(0, 9)) {
        0 => $person,
        1 => $person + ['stack' => null],
        2 => $person + ['stack' => []],
        default => $person + ['stack' => technologies()],
    };
}

/**
 * Every way to break a rule: makes a body invalid. A duplicate needs a nickname that someone has.
 *
 * @return non-empty-array<string, Closure(array<mixed>, string): array<mixed>>
 */
function flaws(): array
{
    $set = static fn (string $member, mixed $value): Closure
        => static fn (array $person): array => array_replace($person, [$member => $value]);
    $unset = static fn (string $member): Closure
        => static fn (array $person): array => array_diff_key($person, [$member => true]);
    $date = static fn (string $format, int $from, int $to): Closure
        => static fn (array $person): array => array_replace(
            $person,
            ['nascimento' => sprintf($format, mt_rand($from, $to))],
        );
    return [
        // Refused with 422.
        'nickname taken' => static fn (array $person, string $taken): array
            => array_replace($person, ['apelido' => $taken]),
        'nickname null' => $set('apelido', null),
        'nickname missing' => $unset('apelido'),
        'nickname empty' => $set('apelido', ''),
        'nickname over-long' => static fn (array $person): array
            => array_replace($person, ['apelido' => letters(mt_rand(33, 60))]),
        'nickname over-long by one' => static fn (array $person): array
            => array_replace($person, ['apelido' => str_repeat('õ', 30) . letters(3)]),
        'name null' => $set('nome', null),
        'name missing' => $unset('nome'),
        'name empty' => $set('nome', ''),
        'name over-long' => static fn (array $person): array
            => array_replace($person, ['nome' => name() . str_repeat(' da Silva', 12)]),
        'name over-long by one' => $set('nome', str_repeat('ç', 101)),
        'birthday null' => $set('nascimento', null),
        'birthday missing' => $unset('nascimento'),
        'birthday empty' => $set('nascimento', ''),
        'month 13' => $date('%04d-13-05', 1940, 2007),
        'month 0' => $date('%04d-00-05', 1940, 2007),
        'day 0' => $date('%04d-05-00', 1940, 2007),
        'day 32' => $date('%04d-01-32', 1940, 2007),
        '31 April' => $date('%04d-04-31', 1940, 2007),
        '30 February' => $date('%04d-02-30', 1940, 2007),
        '29 February of a common year' => static fn (array $person): array
            => array_replace($person, ['nascimento' => sprintf('%04d-02-29', 4 * mt_rand(485, 500) + mt_rand(1, 3))]),
        '29 February of 1900' => $set('nascimento', '1900-02-29'),
        'day before month' => $date('05/12/%04d', 1940, 2007),
        'date without zeros' => $date('%04d-1-2', 1940, 2007),
        'date with a time' => $date('%04d-10-12T00:00:00', 1940, 2007),
        'no date' => $set('nascimento', 'ontem'),
        'technology over-long' => static fn (array $person): array
            => array_replace($person, ['stack' => [...technologies(), letters(mt_rand(33, 60))]]),
        'technology over-long by one' => $set('stack', [str_repeat('û', 33)]),
        // Refused with 400.
        'nickname a number' => static fn (array $person): array
            => array_replace($person, ['apelido' => mt_rand(0, 99_999)]),
        'nickname true' => $set('apelido', true),
        'nickname a list' => $set('apelido', ['a']),
        'name a number' => static fn (array $person): array => array_replace($person, ['nome' => mt_rand(0, 99_999)]),
        'name an object' => $set('nome', ['a' => 1]),
        'birthday a number' => static fn (array $person): array
            => array_replace($person, ['nascimento' => mt_rand(19_400_101, 20_071_231)]),
        'birthday false' => $set('nascimento', false),
        'stack a text' => static fn (array $person): array => array_replace($person, ['stack' => any(TECHNOLOGIES)]),
        'stack a number' => $set('stack', 1),
        'stack an object' => $set('stack', ['0a' => 'PHP']),
        'technology a number' => static fn (array $person): array
            => array_replace($person, ['stack' => [...technologies(), mt_rand(0, 9)]]),
        'technology null' => $set('stack', ['PHP', null]),
        'technology a list' => $set('stack', [['PHP']]),
    ];
}

/**
 * @template T
 *
 * @param list<T> $values
 *
 * @return list<T>
 */
function shuffled(array $values): array
{
    // Fisher and Yates, since shuffle() promises no order from one version of PHP to another.
    for ($last = count($values) - 1; $last > 0; $last--) {
        $other = mt_rand(0, $last);
        [$values[$last], $values[$other]] = [$values[$other], $values[$last]];
    }
    return array_values($values);
}

/**
 * The people of all blocks: bodies in order, and beside them those that are valid.
 *
 * @return array{
 *     list<array<mixed>>,
 *     non-empty-list<array{apelido: string, nome: string, nascimento: string, stack?: list<string>|null}>
 * }
 */
function people(): array
{
    $flaws = array_values(flaws());
    // The first is valid, so that a duplicate has someone to be like.
    $valid = [person(0)];
    $bodies = $valid;
    $broken = 0;
    foreach (BLOCKS as $block => [$count, $good]) {
        $kinds = [...array_fill(0, $good, true), ...array_fill(0, $count - $good, false)];
        foreach (shuffled($block === 0 ? array_slice($kinds, 1) : $kinds) as $isValid) {
            $person = person(count($bodies));
            if ($isValid) {
                $valid[] = $person;
                $bodies[] = $person;
            } else {
                $bodies[] = $flaws[$broken++ % count($flaws)]($person, any($valid)['apelido']);
            }
        }
    }
    return [$bodies, $valid];
}

/**
 * A term of one of eight kinds; the first two find nobody.
 *
 * @param array{apelido: string, nome: string} $person
 */
function term(int $kind, array $person): string
{
    return match ($kind) {
        0 => letters(3) . mt_rand(100, 999) . letters(6),
        1 => 'nenhum ' . letters(8),
        2 => any(TECHNOLOGIES),
        3 => mb_strtolower(any(FAMILY_NAMES), 'UTF-8'),
        4 => mb_strtoupper(any(GIVEN_NAMES), 'UTF-8'),
        5 => mb_substr($person['apelido'], 0, 5, 'UTF-8'),
        6 => $person['apelido'],
        default => mb_substr($person['nome'], mt_rand(0, 4), 6, 'UTF-8'),
    };
}

/**
 * @param non-empty-list<array{apelido: string, nome: string}> $people
 *
 * @return list<string>
 */
function terms(array $people): array
{
    $terms = [];
    // The load searches from its beginning on, so terms are of people whom it creates early.
    $early = array_slice($people, 0, 2_000);
    for ($i = 0; $i < TERMS; $i++) {
        $terms[] = term($i % 8, any($early));
    }
    return shuffled($terms);
}

/** @param list<string> $values */
function write(string $file, string $column, array $values): void
{
    if (file_put_contents($file, $column . "\n" . implode("\n", $values) . "\n") === false) {
        exit(1);
    }
}

$folder = $argv[1] ?? '';
if (!is_dir($folder)) {
    fwrite(STDERR, "usage: php generate.php FOLDER\n");
    exit(2);
}
mt_srand(SEED, MT_RAND_MT19937);
[$bodies, $valid] = people();
$terms = terms($valid);
$encode = static fn (array $body): string => json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
write("$folder/pessoas-payloads.tsv", 'payload', array_map($encode, $bodies));
write("$folder/termos-busca.tsv", 't', $terms);
