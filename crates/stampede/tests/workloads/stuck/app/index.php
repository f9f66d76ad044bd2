<?php

declare(strict_types=1);

error_log('waiting for something that never comes');
sleep(600);
