<?php

declare(strict_types=1);

namespace Stampede\Tests;

use PDO;
use PDOException;
use PHPUnit\Framework\Assert;

/**
 * A MariaDB server of its own in a temporary folder, with an empty database. Ends with its object.
 */
final class MariaDbServer
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
        if (!extension_loaded('pdo_mysql')) {
            Assert::markTestSkipped('needs the extension pdo_mysql (Debian: php-mysql)');
        }
        $install = Process::find('mariadb-install-db');
        $mariadbd = Process::find('mariadbd');
        if ($install === null || $mariadbd === null) {
            Assert::markTestSkipped('needs mariadb-install-db and mariadbd (Debian: mariadb-server)');
        }
        $folder = sys_get_temp_dir() . '/stampede-mariadb-' . bin2hex(random_bytes(4));
        mkdir($folder);
        $port = Process::freePort();
        $asUser = Account::unprivileged($folder);
        $options = ['--no-defaults', "--datadir=$folder/data"];
        $new = ['--auth-root-authentication-method=normal', '--skip-test-db'];
        Process::run([...$asUser, $install, ...$options, ...$new], [], $folder);
        // Each statement on a line of its own. https://mariadb.com/kb/en/server-system-variables/#init_file
        file_put_contents("$folder/init.sql", "CREATE DATABASE stampede;\n"
            . "CREATE USER stampede@'127.0.0.1' IDENTIFIED BY 'any';\n"
            . "GRANT ALL ON stampede.* TO stampede@'127.0.0.1';\n");
        $process = Process::start([...$asUser, $mariadbd, ...$options, "--port=$port", '--bind-address=127.0.0.1',
            '--skip-name-resolve', "--socket=$folder/socket", "--init-file=$folder/init.sql",
            '--innodb-flush-log-at-trx-commit=0'], [], $folder);
        $server = new self($process, $folder, $port);
        $process->until($server->answers(...));
        return $server;
    }

    public function url(): string
    {
        return "mysql://stampede:any@127.0.0.1:$this->port/stampede";
    }

    /**
     * A connection of the test's own, past the application.
     */
    public function connect(): PDO
    {
        return new PDO("mysql:host=127.0.0.1;port=$this->port;dbname=stampede", 'stampede', 'any');
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
