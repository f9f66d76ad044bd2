<?php

declare(strict_types=1);

namespace Stampede\Rinha;

use Exception;

/**
 * A person was not created; the code is the status that says why.
 */
final class Refused extends Exception
{
    public static function wrongType(): self
    {
        return new self('a member is of a wrong type', 400);
    }

    public static function invalid(): self
    {
        return new self('a member breaks a rule', 422);
    }
}
