<?php

declare(strict_types=1);

namespace Stampede\Markdown;

use JsonException;
use Parsedown;
use stdClass;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;

/**
 * Renders the Markdown in the member `data` of a JSON object.
 */
final class MarkdownController
{
    public function __construct(private readonly Parsedown $markdown)
    {
    }

    public function __invoke(Request $request): JsonResponse
    {
        if ($request->getMethod() !== 'POST') {
            return self::error('send a POST request');
        }
        $body = $request->getContent();
        if (!is_string($body) || $body === '') {
            return self::error('the body is empty');
        }
        try {
            $message = json_decode($body, flags: JSON_THROW_ON_ERROR);
        } catch (JsonException) {
            $message = null;
        }
        if (!$message instanceof stdClass) {
            return self::error('the body is not a JSON object');
        }
        if (!property_exists($message, 'data')) {
            return new JsonResponse(['result' => '']);
        }
        if (!is_string($message->data)) {
            return self::error('data is not a string');
        }
        return new JsonResponse(['result' => $this->markdown->text($message->data)]);
    }

    private static function error(string $error): JsonResponse
    {
        return new JsonResponse(['error' => $error], 400);
    }
}
