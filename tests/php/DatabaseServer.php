<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PDO;
use PDOException;
use PHPUnit\Framework\Assert;

/**
 * A database server of its own in a temporary folder, with an empty database. Ends with its object.
 */
abstract class DatabaseServer
{
    protected const USER = 'stampede';

    protected const PASSWORD = 'any';

    private ?Process $process = null;

    final private function __construct(protected readonly string $folder, protected readonly int $port)
    {
    }

    public function __destruct()
    {
        $this->process = null;
        Process::run(['rm', '-r', $this->folder]);
    }

    /**
     * A test that needs it is skipped where there is none.
     */
    public static function start(): static
    {
        $extension = static::extension();
        if (!extension_loaded($extension)) {
            Assert::markTestSkipped("needs the extension $extension (Debian: php-" . substr($extension, 4) . ')');
        }
        $programs = [];
        foreach (static::programs() as $program) {
            $programs[] = Process::find($program, ...(glob('/usr/lib/postgresql/*/bin') ?: []))
                ?? Assert::markTestSkipped("needs $program");
        }
        $folder = sys_get_temp_dir() . '/stampede-database-' . bin2hex(random_bytes(4));
        mkdir($folder);
        $server = new static($folder, Process::freePort());
        $server->process = $server->launch(Account::unprivileged($folder), ...$programs);
        $server->process->until($server->answers(...));
        return $server;
    }

    abstract public function url(): string;

    /**
     * A connection of the test's own, past the application.
     */
    public function connect(): PDO
    {
        return new PDO($this->dsn(), self::USER, self::PASSWORD);
    }

    abstract protected static function extension(): string;

    /**
     * What makes a folder of data, and what serves it.
     *
     * @return array{string, string}
     */
    abstract protected static function programs(): array;

    /**
     * @param list<string> $asUser what to put before each command
     */
    abstract protected function launch(array $asUser, string $install, string $serve): Process;

    abstract protected function dsn(): string;

    private function answers(): bool
    {
        try {
            return $this->connect()->query('SELECT 1') !== false;
        } catch (PDOException) {
            return false;
        }
    }
}
