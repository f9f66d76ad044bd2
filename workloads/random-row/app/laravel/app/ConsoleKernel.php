<?php

declare(strict_types=1);

namespace Stampede\RandomRow\Laravel;

use Illuminate\Foundation\Console\Kernel;

/**
 * The framework's own commands and no others.
 */
final class ConsoleKernel extends Kernel
{
}
