<?php

declare(strict_types=1);

return ['debug' => false, 'default_timezone' => 'UTC', 'controller_reuse' => true];
