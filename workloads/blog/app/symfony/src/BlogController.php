<?php

declare(strict_types=1);

namespace Stampede\Blog;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Twig\Environment;

/**
 * The index: the latest posts, ten a page, of all tags or of one.
 */
final class BlogController
{
    public function __construct(private readonly PostRepository $posts, private readonly Environment $twig)
    {
    }

    public function __invoke(Request $request, int $page): Response
    {
        $tag = $request->query->get('tag');
        $name = is_string($tag) && $tag !== '' ? $tag : null;
        return new Response($this->twig->render('blog/index.html.twig', [
            'page' => $this->posts->latest($page, $name),
            'tag' => $name,
        ]));
    }
}
