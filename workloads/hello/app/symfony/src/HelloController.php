<?php

declare(strict_types=1);

namespace Stampede\Hello;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

/**
 * Greets whoever is named in the query, and the world otherwise.
 */
final class HelloController
{
    private const TEXT = ['Content-Type' => 'text/plain;charset=UTF-8'];

    public function __invoke(Request $request): Response
    {
        return new Response("Hello, {$request->query->get('name', 'World')}!\n", 200, self::TEXT);
    }

    public function gzip(Request $request): Response
    {
        $answer = new Response("Hello, {$request->query->get('name', 'World')}!\n", 200, self::TEXT);
        $answer->setVary('Accept-Encoding');
        if (str_contains((string) $request->headers->get('Accept-Encoding'), 'gzip')) {
            $answer->headers->set('Content-Encoding', 'gzip');
            $answer->setContent((string) gzencode((string) $answer->getContent()));
        }
        return $answer;
    }

    public function nothing(): Response
    {
        return new Response("Nothing here.\n", 404, self::TEXT);
    }
}
