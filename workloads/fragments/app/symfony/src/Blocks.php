<?php

declare(strict_types=1);

namespace Stampede\Fragments;

/**
 * What the blocks of the page say.
 */
final class Blocks
{
    private const NAMES = [
        'header', 'menu', 'search', 'headlines', 'weather', 'offers', 'poll', 'comments', 'authors', 'tags', 'archive',
        'footer',
    ];

    /**
     * @return list<string>
     */
    public function names(): array
    {
        return self::NAMES;
    }

    /**
     * @return list<string>
     */
    public function items(string $name): array
    {
        return array_map(static fn (int $number): string => ucfirst($name) . " item $number", range(1, 5));
    }
}
