<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PHPUnit\Framework\Assert;

/**
 * An application of a workload, served on a port of its own.
 */
final class ServedApp
{
    /** @var array<string, string> the programs that were built, by their folders */
    private static array $programs = [];

    private function __construct(
        private readonly Process $process,
        private readonly int $port,
        private readonly ?string $copy = null,
    ) {
    }

    public function __destruct()
    {
        if ($this->copy !== null) {
            Process::run(['rm', '-r', $this->copy]);
        }
    }

    /**
     * Serves a copy, as the bench does.
     *
     * @param string $folder relative to the workloads' folder
     * @param array<string, string> $env
     * @param string|null $prepare a script to run in the copy before
     */
    public static function php(string $folder, array $env = [], ?string $prepare = null): self
    {
        $copy = sys_get_temp_dir() . '/stampede-app-' . bin2hex(random_bytes(4));
        Process::run(['cp', '-r', self::folder($folder), $copy]);
        if ($prepare !== null) {
            Process::run([PHP_BINARY, "$copy/$prepare"], $env, $copy);
        }
        $port = Process::freePort();
        $command = [PHP_BINARY, '-S', "127.0.0.1:$port", '-t', "$copy/public", "$copy/public/index.php"];
        return new self(Process::start($command, $env, $copy)->listensOn($port), $port, $copy);
    }

    /**
     * Builds and starts a Go program; a test that needs it is skipped where there is no Go.
     *
     * @param array<string, string> $env
     * @param string $folder relative to the workloads' folder
     */
    public static function go(string $folder, array $env = []): self
    {
        $go = Process::find('go') ?? Assert::markTestSkipped('needs go (Debian: golang-go)');
        $port = Process::freePort();
        $program = self::build($go, $folder);
        $process = Process::start([$program], $env + ['LISTEN' => "127.0.0.1:$port"]);
        return new self($process->listensOn($port), $port);
    }

    /**
     * The program of a folder, built once.
     */
    private static function build(string $go, string $folder): string
    {
        if (!isset(self::$programs[$folder])) {
            $program = (string) tempnam(sys_get_temp_dir(), 'stampede-go');
            register_shutdown_function(static fn (): bool => unlink($program));
            Process::run([$go, 'build', '-trimpath', '-buildvcs=false', '-o', $program, '.'], [], self::folder($folder));
            self::$programs[$folder] = $program;
        }
        return self::$programs[$folder];
    }

    /**
     * @param array<string, string> $headers
     */
    public function ask(string $method, string $target, string $body = '', array $headers = []): HttpAnswer
    {
        return HttpAnswer::to($this->port, $method, $target, $body, $headers);
    }

    public function log(): string
    {
        return $this->process->log();
    }

    private static function folder(string $path): string
    {
        return dirname(__DIR__, 2) . "/workloads/$path";
    }
}
