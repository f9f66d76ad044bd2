<?php

declare(strict_types=1);

// Counts in Redis by its protocol over a bare connection: no extension is needed. `/add` counts one, and every other path says
// how many there are.
['host' => $host, 'port' => $port] = parse_url((string) getenv('REDIS_URL'));
if ([$host, (string) $port] !== [getenv('REDIS_HOST'), getenv('REDIS_PORT')] || getenv('REDIS_PASSWORD')) {
    exit('two addresses');
}
$redis = stream_socket_client("tcp://$host:$port");
$ask = function (string $command) use ($redis): string {
    fwrite($redis, "$command\r\n");
    $line = rtrim((string) fgets($redis));
    return $line[0] === '$' ? rtrim((string) fgets($redis)) : substr($line, 1);
};
if (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) === '/add') {
    $ask('INCR things');
    http_response_code(201);
} else {
    echo $ask('EXISTS things') === '0' ? '0' : $ask('GET things');
}
