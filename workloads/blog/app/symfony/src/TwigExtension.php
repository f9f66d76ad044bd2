<?php

declare(strict_types=1);

namespace Stampede\Blog;

use DateTimeInterface;
use IntlDateFormatter;
use Locale;
use Twig\Extension\AbstractExtension;
use Twig\TwigFilter;
use Twig\TwigFunction;

/**
 * Dates and names of languages as their readers write them.
 */
final class TwigExtension extends AbstractExtension
{
    /**
     * @return list<TwigFilter>
     */
    public function getFilters(): array
    {
        return [new TwigFilter('local_date', self::localDate(...)), new TwigFilter('language', self::language(...))];
    }

    /**
     * @return list<TwigFunction>
     */
    public function getFunctions(): array
    {
        return [new TwigFunction('locales', static fn (): array => explode('|', Kernel::LOCALES))];
    }

    private static function localDate(DateTimeInterface $date, string $locale): string
    {
        $formatter = new IntlDateFormatter($locale, IntlDateFormatter::LONG, IntlDateFormatter::SHORT, 'UTC');
        return (string) $formatter->format($date);
    }

    private static function language(string $locale): string
    {
        return (string) Locale::getDisplayName($locale, $locale);
    }
}
