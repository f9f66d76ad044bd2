<?php

declare(strict_types=1);

namespace Stampede;

/**
 * A file of the public folder, for servers that send none by themselves.
 */
final class PublicFile
{
    /**
     * @param string $root The public folder.
     * @param string $within What links must stay in.
     * @param string $unsent The pattern of paths that are no file to be sent.
     */
    public function __construct(
        private readonly string $root,
        private readonly string $within,
        private readonly string $unsent,
    ) {
    }

    /** The file at a path, or none. */
    public function at(string $path): ?string
    {
        $path = rawurldecode($path);
        if (str_ends_with($path, '/') || str_contains($path, "\0") || preg_match("~$this->unsent~", $path) === 1) {
            return null;
        }
        $file = realpath($this->root . $path);
        return $file !== false && is_file($file) && str_starts_with($file, "$this->within/") ? $file : null;
    }
}
