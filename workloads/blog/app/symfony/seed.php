<?php

declare(strict_types=1);

// Makes database.sqlite beside this file, of the size of the Symfony demo's: 30 posts by 3 authors with 2 to 4 of 9
// tags each, and 5 comments a post. The same each time.

const SEED = 5;

const SENTENCES = [
    'Lorem ipsum dolor sit amet consectetur adipiscing elit', 'Pellentesque vitae velit ex',
    'Mauris dapibus risus quis', 'Eros diam egestas libero eu vulputate risus', 'In hac habitasse platea dictumst',
    'Morbi tempus commodo mattis', 'Ut suscipit posuere justo at vulputate',
    'Ut eleifend mauris et risus ultrices egestas', 'Aliquam sodales odio id eleifend',
    'Urna nisl sollicitudin id varius orci quam id turpis', 'Nulla porta lobortis ligula vel egestas',
    'Curabitur aliquam', 'Sed varius a risus eget aliquam', 'Nunc viverra elit ac laoreet suscipit',
    'Pellentesque et sapien pulvinar consectetur', 'Ubi est barbatus nix', 'Abnobas sunt hilotaes de placidus vita',
    'Ubi est audax amicitia', 'Eposs sunt solems de superbus', 'Vae humani generis',
    'Diatrias tolerare tanquam noster caesium', 'Teres talis saepe tractare de camerarius flavum sensorem',
    'Silva de secundus galatae demitto quadra', 'Sunt accentores vitare salvus flavum parses',
    'Potus sensim ad ferox abnoba', 'Sunt seculaes transferre talis camerarius fluctuies', 'Era brevis ratione est',
    'Sunt torquises imitari velox mirabilis', 'Mineralis persuadere omnes finises desiderium',
    'Bassus fatalis classiss virtualiter transferre de flavum',
];

const TAGS = ['adipiscing', 'consectetur', 'dolore', 'incididunt', 'ipsum', 'labore', 'lorem', 'pariatur', 'voluptate'];

const AUTHORS = ['Jane Doe', 'Tom Doe', '山田 花子'];

function sentences(int $count): string
{
    $text = [];
    for (; $count > 0; $count--) {
        $text[] = SENTENCES[mt_rand(0, count(SENTENCES) - 1)];
    }
    return implode('. ', $text) . '.';
}

function insert(PDO $database, string $table, int|string ...$values): void
{
    $places = implode(', ', array_fill(0, count($values), '?'));
    $database->prepare("INSERT INTO $table VALUES ($places)")->execute(array_values($values));
}

mt_srand(SEED, MT_RAND_MT19937);
$file = __DIR__ . '/database.sqlite';
if (is_file($file)) {
    unlink($file);
}
$database = new PDO("sqlite:$file");
$database->exec(<<<'SQL'
    CREATE TABLE author (id integer PRIMARY KEY, name text NOT NULL, email text NOT NULL UNIQUE);
    CREATE TABLE tag (id integer PRIMARY KEY, name text NOT NULL UNIQUE);
    CREATE TABLE post (
        id integer PRIMARY KEY, title text NOT NULL, slug text NOT NULL, summary text NOT NULL, content text NOT NULL,
        published_at datetime NOT NULL, author_id integer NOT NULL REFERENCES author (id)
    );
    CREATE TABLE post_tag (
        post_id integer NOT NULL REFERENCES post (id), tag_id integer NOT NULL REFERENCES tag (id),
        PRIMARY KEY (post_id, tag_id)
    );
    CREATE TABLE comment (
        id integer PRIMARY KEY, post_id integer NOT NULL REFERENCES post (id), content text NOT NULL,
        published_at datetime NOT NULL, author_id integer NOT NULL REFERENCES author (id)
    );
    CREATE INDEX post_author ON post (author_id);
    CREATE INDEX post_tag_tag ON post_tag (tag_id);
    CREATE INDEX comment_post ON comment (post_id);
    SQL);
$database->beginTransaction();
foreach (AUTHORS as $number => $name) {
    insert($database, 'author', $number + 1, $name, "author$number@example.org");
}
foreach (TAGS as $number => $name) {
    insert($database, 'tag', $number + 1, $name);
}
foreach (SENTENCES as $number => $title) {
    $post = $number + 1;
    $day = (new DateTimeImmutable('2024-02-29 08:00', new DateTimeZone('UTC')))->modify("-$number days");
    $date = $day->modify('+' . mt_rand(0, 36_000) . ' seconds')->format('Y-m-d H:i:s');
    $slug = strtolower(strtr($title, ' ', '-'));
    $content = implode("\n\n", array_map(sentences(...), [5, 8, 6, 9, 4]));
    insert($database, 'post', $post, $title, $slug, sentences(mt_rand(3, 5)), $content, $date, $number % 3 + 1);
    for ($first = mt_rand(0, 8), $more = mt_rand(2, 4); $more > 0; $more--) {
        insert($database, 'post_tag', $post, ($first + 2 * $more) % 9 + 1);
    }
    for ($comment = 1; $comment <= 5; $comment++) {
        $content = sentences(mt_rand(1, 3));
        insert($database, 'comment', 5 * $number + $comment, $post, $content, $date, $comment % 3 + 1);
    }
}
$database->commit();
