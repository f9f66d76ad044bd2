//! How extensions of PHP are built in PHP's own images: which ones come with its source, which are of PECL, and what each is built
//! with.

/// Extensions of PHP's source, with the packages of Debian that each is built with and the options that it is configured with.
/// <https://github.com/docker-library/docs/blob/master/php/README.md#how-to-install-more-php-extensions>
const BUNDLED: [(&str, &[&str], &str); 37] = [
    ("bcmath", &[], ""),
    ("bz2", &["libbz2-dev"], ""),
    ("calendar", &[], ""),
    ("ctype", &[], ""),
    ("dba", &[], ""),
    ("dom", &["libxml2-dev"], ""),
    ("enchant", &["libenchant-2-dev"], ""),
    ("exif", &[], ""),
    ("ffi", &["libffi-dev"], ""),
    ("fileinfo", &[], ""),
    (
        "gd",
        &["libfreetype-dev", "libjpeg62-turbo-dev", "libpng-dev", "libwebp-dev"],
        "--with-freetype --with-jpeg --with-webp",
    ),
    ("gettext", &[], ""),
    ("gmp", &["libgmp-dev"], ""),
    ("iconv", &[], ""),
    ("intl", &["libicu-dev"], ""),
    ("ldap", &["libldap2-dev"], ""),
    ("mbstring", &["libonig-dev"], ""),
    ("mysqli", &[], ""),
    ("opcache", &[], ""),
    ("pcntl", &[], ""),
    ("pdo_mysql", &[], ""),
    ("pdo_pgsql", &["libpq-dev"], ""),
    ("pgsql", &["libpq-dev"], ""),
    ("phar", &[], ""),
    ("posix", &[], ""),
    ("shmop", &[], ""),
    ("snmp", &["libsnmp-dev"], ""),
    ("soap", &["libxml2-dev"], ""),
    ("sockets", &[], ""),
    ("sysvmsg", &[], ""),
    ("sysvsem", &[], ""),
    ("sysvshm", &[], ""),
    ("tidy", &["libtidy-dev"], ""),
    ("tokenizer", &[], ""),
    ("xmlwriter", &["libxml2-dev"], ""),
    ("xsl", &["libxslt1-dev"], ""),
    ("zip", &["libzip-dev"], ""),
];

/// What extensions of PECL are built with, where that is not there: <https://pecl.php.net/>, the page of each.
const PECL: [(&str, &[&str]); 9] = [
    ("amqp", &["librabbitmq-dev"]),
    ("event", &["libevent-dev", "libssl-dev"]),
    ("imagick", &["libmagickwand-dev"]),
    ("memcached", &["libmemcached-dev", "libssl-dev", "zlib1g-dev"]),
    ("mongodb", &["libssl-dev"]),
    ("ssh2", &["libssh2-1-dev"]),
    ("swoole", &["libbrotli-dev", "libssl-dev"]),
    ("uuid", &["uuid-dev"]),
    ("yaml", &["libyaml-dev"]),
];

/// Extensions that must be loaded after others, whose files PHP would read later by their names.
/// <https://bitbucket.org/osmanov/pecl-event/issues/33>
const LATE: [&str; 1] = ["event"];

/// How an extension is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhpSource {
    /// From PHP's source, configured with these options.
    Bundled(&'static str),
    /// From PECL.
    Pecl,
}

/// How an extension is built, and the packages that it is built with.
pub(crate) fn php_source(extension: &str) -> (PhpSource, &'static [&'static str]) {
    if let Some((_, packages, options)) = BUNDLED.iter().find(|(name, ..)| *name == extension) {
        return (PhpSource::Bundled(options), packages);
    }
    let packages = PECL.iter().find(|(name, _)| *name == extension).map_or(&[][..], |(_, packages)| packages);
    (PhpSource::Pecl, packages)
}

/// The commands that build extensions in an image of PHP, in the given order of loading.
pub(crate) fn commands(extensions: &[String]) -> Vec<String> {
    let of = |wanted: fn(PhpSource) -> bool| {
        extensions.iter().filter(move |name| wanted(php_source(name).0)).map(String::as_str).collect::<Vec<_>>()
    };
    let bundled = of(|source| matches!(source, PhpSource::Bundled(_)));
    let mut commands: Vec<String> = bundled
        .iter()
        .filter_map(|name| match php_source(name).0 {
            PhpSource::Bundled(options) if !options.is_empty() => {
                Some(format!("docker-php-ext-configure {name} {options}"))
            }
            _ => None,
        })
        .collect();
    if !bundled.is_empty() {
        commands.push(format!("docker-php-ext-install -j\"$(nproc)\" {}", bundled.join(" ")));
    }
    for name in of(|source| source == PhpSource::Pecl) {
        // It asks which of its features to build; an empty line takes the default.
        commands.push(format!("yes '' | pecl install {name}"));
        let file = if LATE.contains(&name) { format!("--ini-name zz-{name}.ini ") } else { String::new() };
        commands.push(format!("docker-php-ext-enable {file}{name}"));
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_built_by_the_means_of_the_image() {
        let names = ["intl", "gd", "sockets", "event", "redis"].map(str::to_owned);
        assert_eq!(
            commands(&names),
            [
                "docker-php-ext-configure gd --with-freetype --with-jpeg --with-webp",
                "docker-php-ext-install -j\"$(nproc)\" intl gd sockets",
                "yes '' | pecl install event",
                "docker-php-ext-enable --ini-name zz-event.ini event",
                "yes '' | pecl install redis",
                "docker-php-ext-enable redis",
            ]
        );
        assert_eq!(php_source("event").1, ["libevent-dev", "libssl-dev"]);
        assert_eq!(php_source("nobody_knows"), (PhpSource::Pecl, &[][..]));
    }
}
