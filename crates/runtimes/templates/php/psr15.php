<?php

declare(strict_types=1);

namespace Stampede;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestFactoryInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\UploadedFileFactoryInterface;
use Psr\Http\Message\UploadedFileInterface;
use Psr\Http\Server\RequestHandlerInterface;
use RuntimeException;
use Throwable;

require_once __DIR__ . '/answer.php';
require_once __DIR__ . '/form.php';

/**
 * A PSR-15 application: loaded once, asked for every request.
 */
final class Application
{
    /** PSR-17 factories that are one object for everything. */
    private const FACTORIES = ['Nyholm\Psr7\Factory\Psr17Factory', 'GuzzleHttp\Psr7\HttpFactory'];

    /** The application's own factory of messages. */
    public readonly ResponseFactoryInterface
        & ServerRequestFactoryInterface
        & StreamFactoryInterface
        & UploadedFileFactoryInterface $factory;

    /** @var callable(ServerRequestInterface): ResponseInterface */
    private $handler;

    /**
     * @param string $script Returns a PSR-15 request handler, or a callable from a request to a response. It also makes
     *                       the application's classes known.
     */
    public function __construct(string $script)
    {
        $handler = require $script;
        $this->handler = match (true) {
            $handler instanceof RequestHandlerInterface => $handler->handle(...),
            is_callable($handler) => $handler,
            default => throw new RuntimeException(
                "$script returns neither a PSR-15 request handler nor a callable, but " . get_debug_type($handler)
            ),
        };
        $factories = array_filter(self::FACTORIES, class_exists(...));
        $factory = reset($factories)
            ?: throw new RuntimeException('the application has neither nyholm/psr7 nor guzzlehttp/psr7 2');
        $this->factory = new $factory();
    }

    /** What the application answers; 500 for what it does not catch, as a server without a worker would give. */
    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        try {
            return ($this->handler)($request);
        } catch (Throwable $error) {
            error_log("PHP Fatal error:  Uncaught $error");
            return $this->factory->createResponse(500);
        }
    }

    /** The same for servers that know nothing of PSR-7. */
    public function answer(ServerRequestInterface $request): Answer
    {
        $response = $this->handle($request);
        return new Answer(
            $response->getStatusCode(),
            $response->getReasonPhrase(),
            $response->getHeaders(),
            (string) $response->getBody(),
        );
    }

    /** Called once the answer is sent; PSR-15 has nothing to do then. */
    public function terminate(): void
    {
    }

    /**
     * A request from what a server says of it.
     *
     * @param string $target Path and query.
     * @param array<string, string> $headers
     * @param array<mixed> $query
     * @param array<string, string> $cookies
     * @param array<mixed> $form What the body of a form holds.
     * @param array<mixed> $files Uploads in the shape of $_FILES.
     * @param array<string, mixed> $server
     */
    public function request(
        string $method,
        string $target,
        array $headers,
        string $body,
        array $query = [],
        array $cookies = [],
        array $form = [],
        array $files = [],
        array $server = [],
    ): ServerRequestInterface {
        $headers = array_change_key_case($headers);
        $host = $headers['host'] ?? 'localhost';
        $scheme = ($server['HTTPS'] ?? '') === 'on' ? 'https' : 'http';
        $request = $this->factory->createServerRequest($method, "$scheme://$host$target", $server)
            ->withQueryParams($query)
            ->withCookieParams($cookies)
            ->withBody($this->factory->createStream($body));
        foreach ($headers as $name => $value) {
            $request = $request->withHeader((string) $name, $value);
        }
        if (Form::is($headers['content-type'] ?? '')) {
            $request = $request->withParsedBody($form)->withUploadedFiles(Form::uploads($files, $this->upload(...)));
        }
        return $request;
    }

    /**
     * @param array{tmp_name: string, size: int, error: int, name: string, type: string} $file
     */
    private function upload(array $file): UploadedFileInterface
    {
        $stream = $file['error'] === UPLOAD_ERR_OK
            ? $this->factory->createStreamFromFile($file['tmp_name'])
            : $this->factory->createStream();
        return $this->factory->createUploadedFile($stream, $file['size'], $file['error'], $file['name'], $file['type']);
    }
}
