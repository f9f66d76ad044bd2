<?php

declare(strict_types=1);

echo (new PDO('sqlite::memory:'))->query('SELECT 6 * 7')->fetchColumn(), "\n";
