<?php

declare(strict_types=1);

echo getenv('GREETING');
