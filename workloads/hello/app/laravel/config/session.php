<?php

declare(strict_types=1);

return ['driver' => 'array', 'lifetime' => 120, 'cookie' => 'hello', 'path' => '/', 'domain' => null, 'lottery' => [0, 100]];
