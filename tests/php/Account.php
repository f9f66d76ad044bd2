<?php

declare(strict_types=1);

namespace Stampede\Tests;

/**
 * Whom database servers run as: they refuse the superuser.
 */
final class Account
{
    private const NAME = 'nobody';

    /**
     * What to put before a command, so that it runs unprivileged and owns the folder.
     *
     * @return list<string>
     */
    public static function unprivileged(string $folder): array
    {
        if (posix_geteuid() !== 0) {
            return [];
        }
        chown($folder, self::NAME);
        return ['setpriv', '--reuid', self::NAME, '--regid', 'nogroup', '--clear-groups'];
    }
}
