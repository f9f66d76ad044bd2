<?php

declare(strict_types=1);

namespace Stampede;

use RuntimeException;
use Symfony\Component\HttpFoundation\File\UploadedFile;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;
use Throwable;

require_once __DIR__ . '/answer.php';
require_once __DIR__ . '/form.php';

/**
 * A Symfony application: its kernel is booted once and handles every request. Before each but the first the kernel
 * itself resets the services that keep state (Kernel::boot, services_resetter).
 */
final class Application
{
    private readonly HttpKernelInterface $kernel;
    private ?Request $request = null;
    private ?Response $response = null;

    /**
     * @param string $script Returns the kernel.
     */
    public function __construct(string $script)
    {
        $kernel = require $script;
        if (!$kernel instanceof HttpKernelInterface) {
            throw new RuntimeException("$script returns no Symfony kernel, but " . get_debug_type($kernel));
        }
        if (method_exists($kernel, 'boot')) {
            $kernel->boot();
        }
        $this->kernel = $kernel;
    }

    /** What the application answers; 500 for what it does not catch, as a server without a worker would give. */
    public function answer(Request $request): Answer
    {
        try {
            $response = $this->kernel->handle($request);
            $body = self::body($response);
        } catch (Throwable $error) {
            error_log("PHP Fatal error:  Uncaught $error");
            return new Answer(500);
        }
        [$this->request, $this->response] = [$request, $response];
        $headers = $response->headers->allPreserveCaseWithoutCookies();
        $cookies = array_map(strval(...), $response->headers->getCookies());
        return new Answer(
            $response->getStatusCode(),
            Response::$statusTexts[$response->getStatusCode()] ?? '',
            $cookies === [] ? $headers : ['Set-Cookie' => $cookies] + $headers,
            $body,
        );
    }

    /** What the application does once the answer is sent. */
    public function terminate(): void
    {
        if ($this->kernel instanceof TerminableInterface && $this->request !== null && $this->response !== null) {
            $this->kernel->terminate($this->request, $this->response);
        }
        $this->request = $this->response = null;
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
    ): Request {
        $server['REQUEST_METHOD'] = $method;
        $server['REQUEST_URI'] = $target;
        $server['QUERY_STRING'] ??= (string) parse_url($target, PHP_URL_QUERY);
        foreach ($headers as $name => $value) {
            $name = strtr(strtoupper((string) $name), '-', '_');
            $server[in_array($name, ['CONTENT_TYPE', 'CONTENT_LENGTH'], true) ? $name : "HTTP_$name"] = $value;
        }
        return new Request($query, $form, [], $cookies, Form::uploads($files, self::upload(...)), $server, $body);
    }

    /** The body as one text, also of an answer that is streamed or a file. */
    private static function body(Response $response): string
    {
        $body = $response->getContent();
        if ($body === false) {
            ob_start();
            $response->sendContent();
            $body = (string) ob_get_clean();
        }
        return $body;
    }

    /**
     * @param array{tmp_name: string, size: int, error: int, name: string, type: string} $file
     */
    private static function upload(array $file): UploadedFile
    {
        // PHP's own is_uploaded_file() knows nothing of what such a server received.
        return new UploadedFile($file['tmp_name'], $file['name'], $file['type'], $file['error'], true);
    }
}
