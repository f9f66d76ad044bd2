<?php

declare(strict_types=1);

namespace Stampede\Blog;

use DateTimeImmutable;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Tools\Pagination\Paginator;
use Stampede\Blog\Entity\Post;

/**
 * The posts with their authors and tags.
 */
final class PostRepository
{
    private const PAGE = 10;

    public function __construct(private readonly EntityManager $entities)
    {
    }

    public function latest(int $number, ?string $tag): Page
    {
        $query = $this->entities->createQueryBuilder()
            ->select('post', 'author', 'tag')
            ->from(Post::class, 'post')
            ->join('post.author', 'author')
            ->leftJoin('post.tags', 'tag')
            ->where('post.publishedAt <= :now')
            ->orderBy('post.publishedAt', 'DESC')
            ->setParameter('now', new DateTimeImmutable(), 'datetime_immutable')
            ->setFirstResult(($number - 1) * self::PAGE)
            ->setMaxResults(self::PAGE);
        if ($tag !== null) {
            $query->join('post.tags', 'wanted')->andWhere('wanted.name = :tag')->setParameter('tag', $tag);
        }
        // Counts, finds the page's posts, then reads them with all of their tags: three queries.
        /** @var Paginator<Post> $paginator */
        $paginator = new Paginator($query);
        $last = max(1, (int) ceil(count($paginator) / self::PAGE));
        return new Page(array_values(iterator_to_array($paginator)), $number, $last);
    }
}
