<?php

declare(strict_types=1);

namespace Stampede\Tests;

use Closure;
use RuntimeException;

/**
 * A program that runs until its object goes away.
 */
final class Process
{
    /** Seconds within which a program must be ready, or gone after its signal, on a machine that is busy with others. */
    private const PATIENCE = 120.0;

    /**
     * @param resource $process
     */
    private function __construct(private $process, private readonly int $signal, private readonly string $log)
    {
    }

    public function __destruct()
    {
        $deadline = microtime(true) + self::PATIENCE;
        proc_terminate($this->process, $this->signal);
        while (proc_get_status($this->process)['running']) {
            if (microtime(true) > $deadline) {
                proc_terminate($this->process, SIGKILL);
                break;
            }
            usleep(5_000);
        }
        proc_close($this->process);
        unlink($this->log);
    }

    /**
     * @param non-empty-list<string> $command
     * @param array<string, string> $env added to this process's own
     * @param int $signal what ends it
     */
    public static function start(
        array $command,
        array $env = [],
        ?string $folder = null,
        int $signal = SIGTERM,
    ): self {
        $log = (string) tempnam(sys_get_temp_dir(), 'stampede');
        $output = ['file', $log, 'a'];
        $process = proc_open($command, [['null'], $output, $output], $pipes, $folder, $env + getenv());
        return is_resource($process)
            ? new self($process, $signal, $log)
            : throw new RuntimeException("$command[0] cannot start");
    }

    /**
     * Runs a program to its end.
     *
     * @param non-empty-list<string> $command
     * @param array<string, string> $env added to this process's own
     *
     * @return string what it wrote
     */
    public static function run(array $command, array $env = [], ?string $folder = null): string
    {
        $process = proc_open($command, [['null'], ['pipe', 'w'], ['redirect', 1]], $pipes, $folder, $env + getenv());
        if (!is_resource($process)) {
            throw new RuntimeException("$command[0] cannot start");
        }
        /** @var array{1: resource} $pipes */
        $output = (string) stream_get_contents($pipes[1]);
        $code = proc_close($process);
        return $code === 0 ? $output : throw new RuntimeException("$command[0] ended with $code: $output");
    }

    /**
     * Where a program is, or null.
     */
    public static function find(string $program, string ...$folders): ?string
    {
        foreach ([...explode(':', (string) getenv('PATH')), '/usr/sbin', ...$folders] as $folder) {
            if (is_executable("$folder/$program")) {
                return "$folder/$program";
            }
        }
        return null;
    }

    /**
     * A port of 127.0.0.1 on which nobody listens now. It lies below those that the kernel gives to outgoing
     * connections: one of these could have it before the server does.
     */
    public static function freePort(): int
    {
        $lowest = (int) file_get_contents('/proc/sys/net/ipv4/ip_local_port_range');
        for ($try = 0; $try < 1_000; $try++) {
            $port = random_int(max(1_024, $lowest - 10_000), $lowest - 1);
            $socket = @stream_socket_server("tcp://127.0.0.1:$port");
            if ($socket !== false) {
                fclose($socket);
                return $port;
            }
        }
        throw new RuntimeException('no port is free');
    }

    /**
     * Waits until the port takes connections.
     */
    public function listensOn(int $port): self
    {
        return $this->until(static function () use ($port): bool {
            $socket = @stream_socket_client("tcp://127.0.0.1:$port");
            return $socket !== false && fclose($socket);
        });
    }

    /**
     * Waits until something is so.
     *
     * @param Closure(): bool $isReady
     */
    public function until(Closure $isReady): self
    {
        $deadline = microtime(true) + self::PATIENCE;
        while (!$isReady()) {
            if (!proc_get_status($this->process)['running'] || microtime(true) > $deadline) {
                throw new RuntimeException('not ready: ' . $this->log());
            }
            usleep(5_000);
        }
        return $this;
    }

    public function log(): string
    {
        return (string) file_get_contents($this->log);
    }
}
