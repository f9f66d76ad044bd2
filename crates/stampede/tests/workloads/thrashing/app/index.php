<?php

declare(strict_types=1);

const PAGE = 4096;
const PAGES = 24576;

/** Written by the deployment itself, so that its pages count for its memory. */
function pages(): string
{
    $file = sys_get_temp_dir() . '/pages';
    if (is_file($file)) {
        return $file;
    }
    $lock = fopen("$file.lock", 'c');
    flock($lock, LOCK_EX);
    clearstatcache();
    if (!is_file($file)) {
        $out = fopen("$file.new", 'w');
        for ($part = 0; $part < PAGES / 256; $part++) {
            fwrite($out, str_repeat('x', 256 * PAGE));
        }
        fclose($out);
        rename("$file.new", $file);
    }
    return $file;
}

$in = fopen(pages(), 'r');
for ($read = 0; $read < 16; $read++) {
    fseek($in, PAGE * random_int(0, PAGES - 1));
    fread($in, PAGE);
}
echo "hello\n";
