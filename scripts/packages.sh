#!/usr/bin/env bash
# Installs the distribution's packages that are missing: packages.sh demo|test|bench|findings
#
# What is there already, from wherever, is not installed again. Services of newly installed packages are not started:
# Stampede starts its own servers.
set -euo pipefail

purpose=${1:?demo, test, bench or findings}
missing=()

# need PACKAGE... -- TEST...: the packages are missing unless the test succeeds
need() {
    local packages=()
    while [ "$1" != -- ]; do packages+=("$1"); shift; done
    shift
    "$@" >/dev/null 2>&1 || missing+=("${packages[@]}")
}
program() { PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$1"; }
file() { compgen -G "$1"; }
fpm() { program php-fpm || file '/usr/sbin/php-fpm*'; }
uwsgi_php() { program uwsgi && file '/usr/lib/uwsgi/plugins/php*_plugin.so'; }
mod_php() { file '/usr/lib/apache2/modules/libphp*.so' || file '/usr/lib64/httpd/modules/libphp*.so'; }
apache() { program apache2 || program httpd; }
extension() { php -r 'exit(extension_loaded($argv[1]) ? 0 : 1);' "$1"; }
linker() { program cc && echo 'int main(void){return 0;}' | cc -x c -o /dev/null -; }

need gcc libc6-dev -- linker
need make -- program make
need nginx -- program nginx
need ca-certificates -- file /etc/ssl/certs/ca-certificates.crt
if [ "$purpose" = bench ] || [ "$purpose" = test ]; then
    need wrk -- program wrk
    need hey -- program hey
    need apache2-utils -- program ab
    need openssl -- program openssl
fi
if [ "$purpose" = bench ]; then
    need nghttp2-client -- program h2load
else
    need php-cli -- program php
    need php-fpm -- fpm
    need php-mbstring -- extension mbstring
    need apache2-bin -- apache
    need libapache2-mod-php -- mod_php
    need php-parsedown -- file /usr/share/php/Parsedown/Parsedown.php
    need golang-go -- program go
fi
if [ "$purpose" = findings ]; then
    need caddy -- program caddy
    need uwsgi-core uwsgi-plugin-php -- uwsgi_php
    need php-pcov -- extension pcov
fi
if [ "$purpose" = test ]; then
    need git -- program git
    # Those who install a release, the action's steps, and shells that complete.
    need curl -- program curl
    need jq -- program jq
    need man-db -- program man
    need groff-base -- program groff
    need zsh -- program zsh
    need fish -- program fish
    need docker.io -- program dockerd
    need docker.io -- program docker
    need debootstrap -- program debootstrap
    need docker-compose -- program docker-compose
    need composer -- program composer
    need nodejs npm -- program npm
    # The one without windows draws the same pages with half of the processor time; not each distribution has it.
    if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
        need chromium-headless-shell -- program chromium-headless-shell
    else
        need chromium -- program chromium
    fi
    need sqlite3 -- program sqlite3
    need caddy -- program caddy
    need nghttp2-server -- program nghttpd
    need php-nyholm-psr7 -- file /usr/share/php/Nyholm/Psr7/autoload.php
    need php-symfony-framework-bundle -- file /usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php
    need php-laravel-framework -- file /usr/share/php/Illuminate/autoload.php
    need iproute2 -- program ss
    need haproxy -- program haproxy
    need supervisor -- program supervisord
    need pgbouncer -- program pgbouncer
    need redis-server -- program redis-server
    # The workloads' PHP code and what it is tested with.
    need phpunit -- program phpunit
    need php-sqlite3 -- extension pdo_sqlite
    need php-pgsql -- extension pdo_pgsql
    need php-mysql -- extension pdo_mysql
    need php-intl -- extension intl
    need postgresql -- file '/usr/lib/postgresql/*/bin/initdb'
    need mariadb-server -- program mariadbd
    need php-laravel-framework -- file /usr/share/php/Illuminate/autoload.php
    need php-doctrine-orm -- file /usr/share/php/Doctrine/ORM/autoload.php
    need php-symfony-framework-bundle -- file /usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php
    need php-symfony-twig-bundle -- file /usr/share/php/Symfony/Bundle/TwigBundle/autoload.php
    need php-symfony-translation -- file /usr/share/php/Symfony/Component/Translation/autoload.php
fi

[ ${#missing[@]} -gt 0 ] || exit 0

if ! program apt-get >/dev/null; then
    echo "This is neither Debian nor Ubuntu. Install what these packages hold, then run this again:" >&2
    echo "  ${missing[*]}" >&2
    exit 3
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
    program sudo >/dev/null || { echo "Run as root: apt-get install ${missing[*]}" >&2; exit 3; }
    sudo=(sudo)
fi
echo "Stampede needs these packages of the distribution and will install them: ${missing[*]}"

# Debian's interface for "do not start services now" (invoke-rc.d(8)); taken away again at the end.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" >/dev/null
    "${sudo[@]}" chmod 755 "$policy"
    trap '"${sudo[@]}" rm -f "$policy"' EXIT
fi
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "Installed."
