<?php

declare(strict_types=1);

use Stampede\Markdown\Kernel;
use Symfony\Component\HttpFoundation\Request;

require_once __DIR__ . '/../autoload.php';

$environment = getenv('APP_ENV');
$kernel = new Kernel($environment === false ? 'prod' : $environment, (bool) getenv('APP_DEBUG'));
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
