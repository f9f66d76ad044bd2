//! What is known of PHP's extensions by their names: what each needs loaded before it, which of PHP's forms has it, whether it is
//! for developers, and which package holds it.

/// What an extension cannot be loaded without.
/// <https://www.php.net/manual/en/extensions.membership.php>, and `ZEND_MOD_REQUIRED` in the sources of each.
const NEEDS: [(&str, &[&str]); 11] = [
    ("mysqli", &["mysqlnd"]),
    ("pdo_dblib", &["pdo"]),
    ("pdo_firebird", &["pdo"]),
    ("pdo_mysql", &["pdo", "mysqlnd"]),
    ("pdo_odbc", &["pdo"]),
    ("pdo_pgsql", &["pdo"]),
    ("pdo_sqlite", &["pdo"]),
    ("pdo_sqlsrv", &["pdo"]),
    ("http", &["raphf"]),
    ("xmlreader", &["dom"]),
    ("xsl", &["dom"]),
];

/// What an extension must come after where both are loaded, since it may have been built with it.
/// Swoole: <https://wiki.swoole.com/en/#/environment?id=compilation-options>; event:
/// <https://bitbucket.org/osmanov/pecl-event/issues/33>; redis: <https://github.com/phpredis/phpredis/blob/develop/INSTALL.md>.
/// Xdebug: <https://www.php.net/manual/en/opcache.installation.php>.
const AFTER: [(&str, &[&str]); 9] = [
    ("swoole", SWOOLE),
    ("openswoole", SWOOLE),
    ("event", &["sockets"]),
    ("memcached", &["igbinary", "msgpack"]),
    ("redis", &["igbinary", "msgpack"]),
    ("apcu", &["igbinary"]),
    ("exif", &["mbstring"]),
    ("http", &["iconv", "propro"]),
    ("xdebug", &[OPCACHE]),
];

/// The opcode cache.
const OPCACHE: &str = "opcache";

/// Extensions that `php.ini` names as `zend_extension`. <https://www.php.net/manual/en/ini.core.php#ini.zend-extension>
const OF_THE_ENGINE: [&str; 2] = [OPCACHE, "xdebug"];

const SWOOLE: &[&str] = &["curl", "sockets", "mysqlnd", "pdo", "pdo_pgsql", "pdo_sqlite", "pdo_odbc"];

/// Extensions for developers, and agents of products that watch an application: each looks into function calls or requests, and
/// some send what they see elsewhere.
const WATCHERS: [(&str, &str); 25] = [
    ("appdynamics_agent", "a monitoring agent"),
    ("blackfire", "a profiler"),
    ("datadog-profiling", "a profiler"),
    ("ddappsec", "a monitoring agent"),
    ("ddtrace", "a tracer"),
    ("elastic_apm", "a tracer"),
    ("excimer", "a profiler"),
    ("instana", "a tracer"),
    ("meminfo", "a memory profiler"),
    ("memprof", "a memory profiler"),
    ("newrelic", "a monitoring agent"),
    ("opentelemetry", "a tracer"),
    ("pcov", "which measures test coverage"),
    ("phpspy", "a profiler"),
    ("pinba", "a monitoring agent"),
    ("scoutapm", "a monitoring agent"),
    ("spx", "a profiler"),
    ("tideways", "a profiler"),
    ("tideways_xhprof", "a profiler"),
    ("trace", "a tracer"),
    ("uopz", "a tool for tests"),
    ("vld", "a debugger"),
    ("xdebug", "a debugger"),
    ("xhprof", "a profiler"),
    ("zenddebugger", "a debugger"),
];

/// Extensions that are servers by themselves. They change what others find: Swoole's short names define `defer()`, which
/// takes the place of Laravel's. <https://laravel.com/docs/helpers#deferred-functions>
const SERVERS: [&str; 2] = ["swoole", "openswoole"];

/// Extensions that PHP may have as a command line program alone.
/// <https://www.php.net/manual/en/pcntl.installation.php>
const COMMAND_LINE: [&str; 1] = ["pcntl"];

/// What each server interface has as an extension of its own.
const INTERFACES: [&str; 4] = ["apache2handler", "cgi-fcgi", "frankenphp", "litespeed"];

/// Extensions that Debian and Ubuntu have in a package of another name, without `phpX.Y-` before it. Those that are here
/// under no name are in a package of their own.
const PACKAGES: [(&str, &[&str]); 10] = [
    ("bz2", &["bz2"]),
    ("cli", &["pcntl"]),
    (
        "common",
        &[
            "calendar",
            "ctype",
            "exif",
            "ffi",
            "fileinfo",
            "ftp",
            "gettext",
            "iconv",
            "pdo",
            "phar",
            "posix",
            "shmop",
            "sockets",
            "sysvmsg",
            "sysvsem",
            "sysvshm",
            "tokenizer",
        ],
    ),
    ("interbase", &["pdo_firebird", "interbase"]),
    ("mysql", &["mysqlnd", "mysqli", "pdo_mysql"]),
    ("odbc", &["pdo_odbc"]),
    ("pgsql", &["pdo_pgsql"]),
    ("sqlite3", &["pdo_sqlite"]),
    ("sybase", &["pdo_dblib"]),
    ("xml", &["dom", "simplexml", "xmlreader", "xmlwriter", "xsl"]),
];

/// What an extension cannot be loaded without.
pub fn needs(extension: &str) -> &'static [&'static str] {
    NEEDS.iter().find(|(name, _)| *name == extension).map_or(&[], |(_, needs)| needs)
}

/// Whether `php.ini` names an extension as `zend_extension`, as far as that is known.
pub fn is_zend(extension: &str) -> bool {
    OF_THE_ENGINE.contains(&extension)
}

/// Whether an extension must be loaded after the opcode cache.
pub fn is_after_opcache(extension: &str) -> bool {
    after(extension).contains(&OPCACHE)
}

/// What an extension for developers is, and why a measurement goes without it; none of others.
pub fn watches(extension: &str) -> Option<&'static str> {
    WATCHERS.iter().find(|(name, _)| *name == extension).map(|(_, what)| *what)
}

/// Whether an extension is a server by itself.
pub fn is_server(extension: &str) -> bool {
    SERVERS.contains(&extension)
}

/// Whether PHP may have an extension as a command line program alone, so that nothing else can be asked for it.
pub fn is_for_command_line(extension: &str) -> bool {
    COMMAND_LINE.contains(&extension)
}

/// Whether an extension says something of the form of PHP alone, or of its server.
pub fn is_of_one_form(extension: &str) -> bool {
    INTERFACES.contains(&extension) || is_for_command_line(extension) || is_server(extension)
}

/// Debian's and Ubuntu's package of an extension, for a series such as `8.2`.
pub fn package(extension: &str, series: &str) -> String {
    let package = PACKAGES.iter().find(|(_, held)| held.contains(&extension)).map(|(package, _)| *package);
    // No package's name has an underscore.
    format!("php{series}-{}", package.unwrap_or(extension).replace('_', "-"))
}

/// Extensions in an order in which they can be loaded, with what they cannot be loaded without. The given order is kept where it
/// can be.
///
/// `is_there` says what needs no loading.
pub fn in_order<'a>(extensions: &[&'a str], is_there: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let mut ordered = Vec::new();
    for extension in extensions {
        place(extension, extensions, &is_there, &mut ordered);
    }
    ordered
}

fn place<'a>(extension: &'a str, all: &[&'a str], is_there: &impl Fn(&str) -> bool, ordered: &mut Vec<&'a str>) {
    if is_there(extension) || ordered.contains(&extension) {
        return;
    }
    for need in needs(extension) {
        place(need, all, is_there, ordered);
    }
    for earlier in after(extension).iter().filter_map(|name| all.iter().find(|given| *given == name)) {
        place(earlier, all, is_there, ordered);
    }
    ordered.push(extension);
}

/// What an extension must come after where both are loaded.
fn after(extension: &str) -> &'static [&'static str] {
    AFTER.iter().find(|(name, _)| *name == extension).map_or(&[], |(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_come_after_what_they_need() {
        for (given, ordered) in [
            (&["mbstring", "ctype"][..], "mbstring ctype"),
            (&["pdo_sqlite"], "pdo pdo_sqlite"),
            (&["pdo_mysql", "pdo"], "pdo mysqlnd pdo_mysql"),
            (&["mysqli", "mysqli"], "mysqlnd mysqli"),
            (&["event", "sockets"], "sockets event"),
            (&["event"], "event"),
            (&["redis", "memcached", "msgpack", "igbinary"], "igbinary msgpack redis memcached"),
            (&["swoole", "curl", "pdo_pgsql"], "curl pdo pdo_pgsql swoole"),
            (&["xsl", "json", "dom"], "dom xsl"),
        ] {
            let found = in_order(given, |name| name == "json");
            assert_eq!(found.join(" "), ordered, "{given:?}");
        }
    }

    #[test]
    fn a_debugger_is_loaded_by_the_engine_after_the_opcode_cache() {
        for (extension, zend, after) in
            [("xdebug", true, true), ("opcache", true, false), ("redis", false, false), ("none", false, false)]
        {
            assert_eq!((is_zend(extension), is_after_opcache(extension)), (zend, after), "{extension}");
        }
    }

    #[test]
    fn an_extension_has_a_package() {
        for (extension, package_name) in [
            ("pdo_sqlite", "php8.2-sqlite3"),
            ("mysqli", "php8.2-mysql"),
            ("pdo_mysql", "php8.2-mysql"),
            ("simplexml", "php8.2-xml"),
            ("tokenizer", "php8.2-common"),
            ("redis", "php8.2-redis"),
            ("pdo_dblib", "php8.2-sybase"),
            ("some_thing", "php8.2-some-thing"),
        ] {
            assert_eq!(package(extension, "8.2"), package_name);
        }
    }
}
