<?php

declare(strict_types=1);

namespace Stampede\Fragments;

use Symfony\Component\HttpFoundation\Response;
use Twig\Environment;

/**
 * One block, asked for by the page in a sub-request.
 */
final class BlockController
{
    public function __construct(private readonly Blocks $blocks, private readonly Environment $twig)
    {
    }

    public function __invoke(string $name): Response
    {
        $items = $this->blocks->items($name);
        return new Response($this->twig->render('block.html.twig', ['name' => $name, 'items' => $items]));
    }
}
