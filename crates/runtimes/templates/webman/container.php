<?php

declare(strict_types=1);

return new Webman\Container();
