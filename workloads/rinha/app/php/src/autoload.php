<?php

declare(strict_types=1);

foreach (['Answer', 'Api', 'DatabaseUrl', 'People', 'Person', 'Refused'] as $class) {
    require_once __DIR__ . "/$class.php";
}
