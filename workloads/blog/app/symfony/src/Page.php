<?php

declare(strict_types=1);

namespace Stampede\Blog;

use Stampede\Blog\Entity\Post;

/**
 * Some of the posts, and where they are among all.
 */
final class Page
{
    /**
     * @param list<Post> $posts
     */
    public function __construct(
        public readonly array $posts,
        public readonly int $number,
        public readonly int $last,
    ) {
    }
}
