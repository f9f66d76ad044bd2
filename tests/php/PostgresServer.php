<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PDO;
use PDOException;
use PHPUnit\Framework\Assert;

/**
 * A PostgreSQL server of its own in a temporary folder, with an empty database. Ends with its object.
 */
final class PostgresServer
{
    private ?Process $process;

    private function __construct(Process $process, private readonly string $folder, private readonly int $port)
    {
        $this->process = $process;
    }

    public function __destruct()
    {
        $this->process = null;
        Process::run(['rm', '-r', $this->folder]);
    }

    /**
     * A test that needs it is skipped where there is none.
     */
    public static function start(): self
    {
        if (!extension_loaded('pdo_pgsql')) {
            Assert::markTestSkipped('needs the extension pdo_pgsql (Debian: php-pgsql)');
        }
        $programs = glob('/usr/lib/postgresql/*/bin') ?: [];
        $initdb = Process::find('initdb', ...$programs);
        $postgres = Process::find('postgres', ...$programs);
        if ($initdb === null || $postgres === null) {
            Assert::markTestSkipped('needs initdb and postgres (Debian: postgresql)');
        }
        $folder = sys_get_temp_dir() . '/stampede-postgres-' . bin2hex(random_bytes(4));
        mkdir($folder);
        $port = Process::freePort();
        $asUser = Account::unprivileged($folder);
        Process::run([...$asUser, $initdb, '-D', "$folder/data", '-U', 'stampede', '-A', 'trust', '-E', 'UTF8',
            '--locale', 'C', '--no-sync'], [], $folder);
        $process = Process::start([...$asUser, $postgres, '-D', "$folder/data", '-p', (string) $port,
            '-h', '127.0.0.1', '-k', $folder, '-F'], [], $folder, SIGINT);
        $server = new self($process, $folder, $port);
        $process->until($server->answers(...));
        return $server;
    }

    public function url(): string
    {
        return "pgsql://stampede:any@127.0.0.1:$this->port/postgres";
    }

    /**
     * A connection of the test's own, past the application.
     */
    public function connect(): PDO
    {
        return new PDO("pgsql:host=127.0.0.1;port=$this->port;dbname=postgres", 'stampede', 'any');
    }

    private function answers(): bool
    {
        try {
            return $this->connect()->query('SELECT 1') !== false;
        } catch (PDOException) {
            return false;
        }
    }
}
