<?php

declare(strict_types=1);

namespace Stampede\Fragments;

use Symfony\Component\HttpFoundation\Response;
use Twig\Environment;

/**
 * A page of a dozen blocks, each by a sub-request; and the same page in one request.
 */
final class PageController
{
    public function __construct(private readonly Blocks $blocks, private readonly Environment $twig)
    {
    }

    public function __invoke(): Response
    {
        return new Response($this->twig->render('page.html.twig', ['names' => $this->blocks->names()]));
    }

    public function plain(): Response
    {
        $blocks = [];
        foreach ($this->blocks->names() as $name) {
            $blocks[$name] = $this->blocks->items($name);
        }
        return new Response($this->twig->render('plain.html.twig', ['blocks' => $blocks]));
    }
}
