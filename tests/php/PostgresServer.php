<?php

declare(strict_types=1);

namespace Stampede\Tests;

final class PostgresServer extends DatabaseServer
{
    public function url(): string
    {
        return sprintf('pgsql://%s:%s@127.0.0.1:%d/postgres', self::USER, self::PASSWORD, $this->port);
    }

    protected static function extension(): string
    {
        return 'pdo_pgsql';
    }

    protected static function programs(): array
    {
        return ['initdb', 'postgres'];
    }

    protected function launch(array $asUser, string $install, string $serve): Process
    {
        Process::run([...$asUser, $install, '-D', "$this->folder/data", '-U', self::USER, '-A', 'trust', '-E', 'UTF8',
            '--locale', 'C', '--no-sync'], [], $this->folder);
        return Process::start([...$asUser, $serve, '-D', "$this->folder/data", '-p', (string) $this->port,
            '-h', '127.0.0.1', '-k', $this->folder, '-F'], [], $this->folder, SIGINT);
    }

    protected function dsn(): string
    {
        return "pgsql:host=127.0.0.1;port=$this->port;dbname=postgres";
    }
}
