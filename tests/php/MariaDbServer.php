<?php

declare(strict_types=1);

namespace Stampede\Tests;

final class MariaDbServer extends DatabaseServer
{
    public function url(): string
    {
        return sprintf('mysql://%s:%s@127.0.0.1:%d/stampede', self::USER, self::PASSWORD, $this->port);
    }

    protected static function extension(): string
    {
        return 'pdo_mysql';
    }

    protected static function programs(): array
    {
        return ['mariadb-install-db', 'mariadbd'];
    }

    protected function launch(array $asUser, string $install, string $serve): Process
    {
        $options = ['--no-defaults', "--datadir=$this->folder/data"];
        $new = ['--auth-root-authentication-method=normal', '--skip-test-db'];
        Process::run([...$asUser, $install, ...$options, ...$new], [], $this->folder);
        // Each statement on a line of its own. https://mariadb.com/kb/en/server-system-variables/#init_file
        $user = self::USER . "@'127.0.0.1'";
        file_put_contents("$this->folder/init.sql", "CREATE DATABASE stampede;\n"
            . "CREATE USER $user IDENTIFIED BY '" . self::PASSWORD . "';\nGRANT ALL ON stampede.* TO $user;\n");
        return Process::start([...$asUser, $serve, ...$options, "--port=$this->port", '--bind-address=127.0.0.1',
            '--skip-name-resolve', "--socket=$this->folder/socket", "--init-file=$this->folder/init.sql",
            '--innodb-flush-log-at-trx-commit=0'], [], $this->folder);
    }

    protected function dsn(): string
    {
        return "mysql:host=127.0.0.1;port=$this->port;dbname=stampede";
    }
}
