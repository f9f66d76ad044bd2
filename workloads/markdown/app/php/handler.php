<?php

declare(strict_types=1);

use Nyholm\Psr7\Response;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Stampede\Markdown\Api;

// Composer's copies of the libraries where they are installed, the distribution's otherwise.
$vendor = __DIR__ . '/vendor/autoload.php';
if (is_file($vendor)) {
    require_once $vendor;
} else {
    require_once '/usr/share/php/Parsedown/autoload.php';
    require_once '/usr/share/php/Nyholm/Psr7/autoload.php';
}
require_once __DIR__ . '/src/Answer.php';
require_once __DIR__ . '/src/Api.php';

$api = new Api(new Parsedown());

return static function (ServerRequestInterface $request) use ($api): ResponseInterface {
    $answer = $api->answer($request->getMethod(), (string) $request->getBody());
    return new Response(
        $answer->status,
        ['Content-Type' => 'application/json'],
        json_encode($answer->message, JSON_THROW_ON_ERROR),
    );
};
