#!/usr/bin/env bash
# Tests and analyses the PHP code: php.sh test|analyse
#
# What is missing is named and skipped. PHPUNIT and PHPSTAN name other copies of the programs.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:?test or analyse}

skip() {
    echo "SKIP PHP $purpose: needs $1" >&2
    exit 0
}
command -v php >/dev/null || skip 'php (Debian: php-cli)'

case $purpose in
    test)
        phpunit=${PHPUNIT:-phpunit}
        command -v "$phpunit" >/dev/null || skip 'phpunit (Debian: phpunit; or PHPUNIT=FILE)'
        exec "$phpunit" ;;
    analyse)
        phpstan=${PHPSTAN:-phpstan}
        command -v "$phpstan" >/dev/null || skip 'phpstan (https://phpstan.org; or PHPSTAN=FILE)'
        exec "$phpstan" analyse --no-progress --memory-limit=1G ;;
esac
