<?php

declare(strict_types=1);

namespace Stampede\Markdown;

use JsonException;
use Parsedown;
use stdClass;

/**
 * Renders the Markdown in the member `data` of a JSON object.
 */
final class Api
{
    public function __construct(private readonly Parsedown $markdown)
    {
    }

    public function answer(string $method, string $body): Answer
    {
        if ($method !== 'POST') {
            return Answer::error('send a POST request');
        }
        if ($body === '') {
            return Answer::error('the body is empty');
        }
        try {
            $message = json_decode($body, flags: JSON_THROW_ON_ERROR);
        } catch (JsonException) {
            $message = null;
        }
        if (!$message instanceof stdClass) {
            return Answer::error('the body is not a JSON object');
        }
        if (!property_exists($message, 'data')) {
            return Answer::result('');
        }
        if (!is_string($message->data)) {
            return Answer::error('data is not a string');
        }
        /** @var string $html */
        $html = $this->markdown->text($message->data);
        return Answer::result($html);
    }
}
