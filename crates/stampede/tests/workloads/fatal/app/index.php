<?php

declare(strict_types=1);

echo no_such_function();
