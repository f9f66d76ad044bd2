<?php

declare(strict_types=1);

// Answers a request with what this PHP is.

echo require '@{run}/php/settings.php';
