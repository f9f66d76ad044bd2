<?php

declare(strict_types=1);

namespace Stampede;

/**
 * What the body of a form holds.
 */
final class Form
{
    /** Whether a body of this type is a form, the only one that PHP itself parses. */
    public static function is(string $type): bool
    {
        return preg_match('~^(application/x-www-form-urlencoded|multipart/form-data)\b~i', $type) === 1;
    }

    /**
     * @param array<mixed> $files Uploads in the shape of $_FILES.
     * @param callable(array{tmp_name: string, size: int, error: int, name: string, type: string}): object $upload
     * @return array<mixed> The same tree of objects.
     */
    public static function uploads(array $files, callable $upload): array
    {
        return array_map(static fn (array $file) => match (true) {
            !isset($file['tmp_name']) => self::uploads($file, $upload),
            is_array($file['tmp_name']) => self::uploads(self::transposed($file), $upload),
            default => $upload($file),
        }, $files);
    }

    /**
     * PHP gives the several files of one field as a list of names, a list of sizes, and so on.
     *
     * @param array<string, array<mixed>> $file
     * @return array<mixed>
     */
    private static function transposed(array $file): array
    {
        $files = [];
        foreach ($file as $property => $values) {
            foreach ($values as $index => $value) {
                $files[$index][$property] = $value;
            }
        }
        return $files;
    }
}
