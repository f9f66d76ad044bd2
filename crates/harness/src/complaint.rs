//! What servers, PHP and applications complain of in their logs, and what mends it.
//!
//! One table. A line is known by parts of it; the flag that is printed is for a setting that the case has, with a value that is enough
//! for this request where the line tells how much it takes.

use stampede_core::{Case, Outcome, SQLITE_LOCKED, TOO_MANY_CONNECTIONS};
use stampede_seam::Running;

use self::Remedy::{Do, Enlarge, IniSeconds, IniSize, Raise};

/// A line that is known.
struct Complaint {
    /// What it holds, in lower case and in this order. Numbers that follow the first part tell how much was wanted.
    parts: &'static [&'static str],
    /// What it means.
    means: &'static str,
    remedy: Remedy,
}

/// What mends it.
enum Remedy {
    /// A size that refuses this request, or the answer to it, every time: the first of these settings that the case has.
    Enlarge(&'static [&'static str]),
    /// A number that was reached: the first of these settings that the case has.
    Raise(&'static [&'static str]),
    /// A size among PHP's settings.
    IniSize(&'static str),
    /// Seconds among PHP's settings.
    IniSeconds(&'static str),
    /// What a person does.
    Do(&'static str),
}

/// What is printed.
struct Fix {
    means: &'static str,
    /// The setting, or what is to be done: each is told once, with the value that came first.
    of: &'static str,
    how: String,
}

/// Settings for the body of a request, of any runtime.
const CONNECTIONS: Remedy = Do(
    "lower the number of workers, raise the database's max_connections (--set mariadb.max_connections=300), or put a pool of \
     connections in front (--services postgres,pgbouncer)",
);

const NO_TABLES: &str = "the database has no tables";
const FILL: Remedy =
    Do("migrate it (php artisan migrate), do so under prepare, or give it a dump: --database dump.sql");

const BODY: Remedy = Enlarge(&[
    "client_max_body_size",
    "package_max_length",
    "defaultMaxPackageSize",
    "http.max_request_size",
    "LimitRequestBody",
]);
/// The same for its headers.
const HEADERS: Remedy = Enlarge(&["large_client_header_buffers", "buffer-size", "LimitRequestFieldSize"]);

/// A size that was too small is multiplied by this: nginx's page of 4 KiB becomes the 64 KiB that the largest heads of frameworks need.
const ENLARGED: u64 = 16;
/// The same of a number of workers.
const RAISED: u64 = 2;

/// What servers allow at most.
const MOST: [(&str, u64); 4] = [
    ("buffer-size", 65_535),
    ("fastcgi_buffer_size", 1 << 20),
    ("large_client_header_buffers", 1 << 20),
    ("LimitRequestFieldSize", 1 << 20),
];

/// Lines of logs. Sources: nginx `ngx_http_upstream.c`, `ngx_http_core_module.c`, `ngx_http_request.c`, `ngx_connection.c`; Apache `core.c`,
/// `protocol.c`, `http_filters.c`, `prefork.c`, `event.c`; PHP `fpm_process_ctl.c`, `zend_alloc.c`, `zend_execute_API.c`, `SAPI.c`; uWSGI
/// `core/reader.c`; Swoole `src/server/port.cc`; RoadRunner `http/handler`; Laravel, Symfony, Drupal and Composer, their exceptions.
const LINES: &[Complaint] = &[
    Complaint {
        parts: &["upstream sent too big header"],
        means: "the headers of the answer are larger than the buffer for them",
        remedy: Enlarge(&["fastcgi_buffer_size"]),
    },
    Complaint {
        parts: &["client intended to send too large body:"],
        means: "the body of the request is larger than nginx allows",
        remedy: BODY,
    },
    Complaint {
        parts: &["client sent too long header line"],
        means: "a header of the request is larger than nginx allows",
        remedy: HEADERS,
    },
    Complaint {
        parts: &["client sent too long uri"],
        means: "the path of the request is longer than nginx allows",
        remedy: HEADERS,
    },
    Complaint {
        parts: &["worker_connections are not enough"],
        means: "nginx has no connection left for a request to PHP-FPM",
        remedy: Raise(&["worker_processes"]),
    },
    Complaint { parts: &["ah00484"], means: "all of Apache's workers are busy", remedy: Raise(&["MaxRequestWorkers"]) },
    Complaint {
        parts: &["requested content-length of ", "larger than the configured limit"],
        means: "the body of the request is larger than Apache allows",
        remedy: BODY,
    },
    Complaint {
        parts: &["larger than the configured limit"],
        means: "the body of the request is larger than Apache allows",
        remedy: BODY,
    },
    Complaint {
        parts: &["request header exceeds limitrequestfieldsize"],
        means: "a header of the request is larger than Apache allows",
        remedy: HEADERS,
    },
    Complaint {
        parts: &["request header read timeout"],
        means: "headers came too slowly for Apache's RequestReadTimeout",
        remedy: Do("lower the load, or remove RequestReadTimeout from the application's .htaccess"),
    },
    Complaint {
        parts: &["reached pm.max_children"],
        means: "all of PHP-FPM's workers are busy",
        remedy: Raise(&["pm.max_children"]),
    },
    Complaint {
        parts: &["unable to allocate", "memory"],
        means: "PHP had no memory left under the case's limit",
        remedy: Do("raise --memory, or lower the number of workers"),
    },
    Complaint {
        parts: &["allowed memory size of "],
        means: "a script used more memory than PHP allows",
        remedy: IniSize("memory_limit"),
    },
    Complaint {
        parts: &["maximum execution time of "],
        means: "a script ran longer than PHP allows",
        remedy: IniSeconds("max_execution_time"),
    },
    Complaint {
        parts: &["post content-length of ", "exceeds the limit"],
        means: "the body of the request is larger than PHP allows",
        remedy: IniSize("post_max_size"),
    },
    Complaint {
        parts: &["invalid request block size: "],
        means: "the headers of the request are larger than uWSGI's buffer for them",
        remedy: HEADERS,
    },
    Complaint {
        parts: &["invalid http request size"],
        means: "the headers of the request are larger than uWSGI's buffer for them",
        remedy: HEADERS,
    },
    Complaint {
        parts: &["content-length (", "package_max_length"],
        means: "the request is larger than Swoole allows",
        remedy: BODY,
    },
    Complaint {
        parts: &["request body max size is exceeded"],
        means: "the body of the request is larger than RoadRunner allows",
        remedy: BODY,
    },
    // Since 2024.1, by Go's http.MaxBytesReader.
    Complaint {
        parts: &["request forming error", "request body too large"],
        means: "the body of the request is larger than RoadRunner allows",
        remedy: BODY,
    },
    Complaint {
        parts: &["could not find driver"],
        means: "PHP has no driver for the database",
        remedy: Do("add it to the application: extensions: [pdo_sqlite], pdo_mysql or pdo_pgsql"),
    },
    Complaint {
        parts: &["no application encryption key"],
        means: "Laravel has no key",
        remedy: Do("run php artisan key:generate in the application's folder, or set APP_KEY under env"),
    },
    Complaint {
        parts: &["vite manifest not found"],
        means: "the application's scripts and styles are not built",
        remedy: Do("run npm ci && npm run build in the application's folder"),
    },
    Complaint {
        parts: &["database is locked"],
        means: SQLITE_LOCKED,
        remedy: Do(
            "have connections wait (PRAGMA busy_timeout=5000) and readers not wait (PRAGMA journal_mode=WAL), or use a database \
             server: --services mariadb",
        ),
    },
    // MariaDB's error 1040.
    Complaint { parts: &["too many connections"], means: TOO_MANY_CONNECTIONS, remedy: CONNECTIONS },
    Complaint { parts: &["too many clients already"], means: TOO_MANY_CONNECTIONS, remedy: CONNECTIONS },
    // What PostgreSQL says when only those for administrators are left.
    Complaint { parts: &["remaining connection slots are reserved"], means: TOO_MANY_CONNECTIONS, remedy: CONNECTIONS },
    Complaint { parts: &["no such table"], means: NO_TABLES, remedy: FILL },
    // MariaDB's error 1146, PostgreSQL's 42P01.
    Complaint { parts: &["table '", "' doesn't exist"], means: NO_TABLES, remedy: FILL },
    Complaint { parts: &["relation \"", "\" does not exist"], means: NO_TABLES, remedy: FILL },
    Complaint {
        parts: &["attempt to write a readonly database"],
        means: "the servers' user may not write the SQLite file, or its folder",
        remedy: Do("keep it in the application's folder: the copy there belongs to that user"),
    },
    Complaint {
        parts: &["provide a valid cache path"],
        means: "Laravel's folders for its caches are missing",
        remedy: Do("make storage/framework/cache, sessions and views in the application's folder"),
    },
    Complaint {
        parts: &["failed opening required", "vendor/autoload"],
        means: "the application's packages are not installed",
        remedy: Do("run composer install --no-dev -o in the application's folder"),
    },
    Complaint {
        parts: &["composer detected issues in your platform"],
        means: "the packages were installed for another PHP",
        remedy: Do("choose that PHP with --php, add the extensions that it names, or run composer update"),
    },
    Complaint {
        parts: &["untrusted host"],
        means: "the application does not trust the host that it is asked for",
        remedy: Do("add 127.0.0.1 to its trusted hosts"),
    },
    Complaint {
        parts: &["provided host name is not valid for this server"],
        means: "the application does not trust the host that it is asked for",
        remedy: Do("add ^127\\.0\\.0\\.1$ to trusted_host_patterns"),
    },
];

/// Wrong answers that servers log nothing of, by status and page: nginx and Apache tell of headers in the page of a 400 alone.
const ANSWERS: &[Complaint] = &[
    Complaint {
        parts: &["request header or cookie too large"],
        means: "a header of the request is larger than nginx allows",
        remedy: HEADERS,
    },
    Complaint {
        parts: &["size of a request header field exceeds server limit"],
        means: "a header of the request is larger than Apache allows",
        remedy: HEADERS,
    },
    Complaint {
        parts: &["413 content too large"],
        means: "the body of the request is larger than the server allows",
        remedy: BODY,
    },
    Complaint {
        parts: &["414 uri too long"],
        means: "the path of the request is longer than the server allows",
        remedy: HEADERS,
    },
    Complaint {
        parts: &["429 too many requests"],
        means: "the application limits how often one visitor may ask",
        remedy: Do("turn its rate limit off"),
    },
    Complaint {
        parts: &["431 request header fields too large"],
        means: "the headers of the request are larger than the server allows",
        remedy: HEADERS,
    },
];

/// What mends the problem of a case, by the lines of its logs and by its wrong answer. Each once:
/// `fix: all of PHP-FPM's workers are busy: --set nginx-fpm.pm.max_children=8 (now 4)`.
pub(crate) fn fixes<'a>(case: &Case, problem: &str, lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let lines = lines.into_iter().map(|line| (LINES, line)).chain([(ANSWERS, problem)]);
    let mut fixes: Vec<Fix> = Vec::new();
    for (table, text) in lines {
        let text = text.to_lowercase();
        let known = table.iter().find_map(|complaint| Some((complaint, complaint.wanted(&text)?)));
        let fix = known.and_then(|(complaint, wanted)| complaint.fix(case, wanted));
        fixes.extend(fix.filter(|fix| fixes.iter().all(|known| known.of != fix.of)));
    }
    fixes.into_iter().map(|Fix { means, of: _, how }| format!("{}{means}: {how}", Outcome::FIX)).collect()
}

/// Whether a unit has logged that it refuses this request, or the answer to it, for its size: it would every time.
pub(crate) fn refuses(running: &dyn Running) -> bool {
    running.units().iter().flat_map(|unit| running.logs(unit).lines).any(|line| {
        let line = line.to_lowercase();
        LINES.iter().any(|known| matches!(known.remedy, Enlarge(_)) && known.wanted(&line).is_some())
    })
}

impl Complaint {
    /// How much a line in lower case wants, 0 where it does not tell; nothing where it is another one.
    fn wanted(&self, line: &str) -> Option<u64> {
        let mut rest = line;
        let mut number = None;
        for part in self.parts {
            rest = &rest[rest.find(part)? + part.len()..];
            number = number.or_else(|| Some(leading_number(rest)));
        }
        number
    }

    /// What is printed for a case; nothing where it has no such setting.
    fn fix(&self, case: &Case, wanted: u64) -> Option<Fix> {
        let setting = |names: &[&'static str], factor: u64| {
            let (name, now) = names.iter().find_map(|name| Some((*name, case.tuning.count(name)?)))?;
            // RoadRunner counts megabytes.
            let wanted = if name == "http.max_request_size" { wanted.div_ceil(1_000_000) } else { wanted };
            let most = MOST.iter().find(|(of, _)| *of == name).map_or(u64::MAX, |(_, most)| *most);
            let value = if wanted > now { wanted.next_power_of_two() } else { now * factor }.min(most);
            Some((name, format!("--set {}.{name}={value} (now {now})", case.runtime)))
        };
        let ini = |name, value| (name, format!("ini: {{{name}: {value}}} under app in stampede.yaml"));
        let (of, how) = match self.remedy {
            Enlarge(names) => setting(names, ENLARGED)?,
            Raise(names) => setting(names, RAISED)?,
            IniSize(name) => {
                let mebibytes = (wanted + 1).next_power_of_two() >> 20;
                ini(name, format!("{}M", mebibytes.max(1)))
            }
            IniSeconds(name) => ini(name, (wanted * RAISED).to_string()),
            Do(what) => (what, what.to_owned()),
        };
        Some(Fix { means: self.means, of, how })
    }
}

/// The number that a text begins with, 0 without one.
fn leading_number(text: &str) -> u64 {
    let digits = text.trim_start();
    let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use stampede_core::{RuntimeId, Tuning};
    use stampede_testkit::samples;

    use super::*;

    fn case(runtime: &str, settings: &[(&str, u64)]) -> Case {
        let tuning = settings.iter().fold(Tuning::new(), |tuning, (name, value)| tuning.with_default(name, value, ""));
        Case { runtime: RuntimeId::new(runtime), tuning, ..samples::case(runtime) }
    }

    #[test]
    fn a_line_that_is_known_leads_to_the_setting_of_its_runtime() {
        let nginx = &case(
            "nginx-fpm",
            &[
                ("fastcgi_buffer_size", 4096),
                ("client_max_body_size", 8 << 20),
                ("large_client_header_buffers", 8192),
                ("worker_processes", 1),
                ("pm.max_children", 4),
            ],
        );
        let apache = &case(
            "apache-fpm",
            &[("LimitRequestBody", 1 << 30), ("LimitRequestFieldSize", 8190), ("MaxRequestWorkers", 25)],
        );
        let uwsgi = &case("uwsgi-php", &[("buffer-size", 8192)]);
        let swoole = &case("swoole", &[("package_max_length", 8 << 20)]);
        let roadrunner = &case("roadrunner", &[("http.max_request_size", 1000)]);
        for (case, line, fix) in [
            (
                nginx,
                "20 times: 2026/11/26 07:00:01 [error] 71#71: *5 upstream sent too big header while reading response header \
                 from upstream, client: 127.0.0.1",
                "fix: the headers of the answer are larger than the buffer for them: --set nginx-fpm.fastcgi_buffer_size=65536 \
                 (now 4096)",
            ),
            (
                nginx,
                "2026/11/26 07:00:01 [error] 71#71: *5 client intended to send too large body: 9437184 bytes, client: 127.0.0.1",
                "--set nginx-fpm.client_max_body_size=16777216 (now 8388608)",
            ),
            (
                nginx,
                "*1 client sent too long header line: \"cookie: a",
                "--set nginx-fpm.large_client_header_buffers=131072",
            ),
            (nginx, "1024 worker_connections are not enough", "--set nginx-fpm.worker_processes=2 (now 1)"),
            (
                nginx,
                "WARNING: [pool www] server reached pm.max_children setting (4), consider raising it",
                "--set nginx-fpm.pm.max_children=8 (now 4)",
            ),
            (
                nginx,
                "PHP Fatal error:  Allowed memory size of 134217728 bytes exhausted (tried to allocate 20480 bytes)",
                "a script used more memory than PHP allows: ini: {memory_limit: 256M} under app in stampede.yaml",
            ),
            (nginx, "PHP Fatal error:  Maximum execution time of 30 seconds exceeded", "ini: {max_execution_time: 60}"),
            (
                nginx,
                "PHP Warning:  POST Content-Length of 9437184 bytes exceeds the limit of 8388608 bytes in Unknown",
                "ini: {post_max_size: 16M}",
            ),
            (
                apache,
                "AH00484: server reached MaxRequestWorkers setting, consider raising the MaxRequestWorkers setting",
                "--set apache-fpm.MaxRequestWorkers=50 (now 25)",
            ),
            (
                apache,
                "AH01588: Requested content-length of 1073741825 is larger than the configured limit of 1073741824",
                "--set apache-fpm.LimitRequestBody=2147483648",
            ),
            (
                apache,
                "AH00561: Request header exceeds LimitRequestFieldSize: Cookie",
                "--set apache-fpm.LimitRequestFieldSize=131040",
            ),
            (
                uwsgi,
                "invalid request block size: 21573 (max 8192)...skip",
                "--set uwsgi-php.buffer-size=32768 (now 8192)",
            ),
            (uwsgi, "invalid HTTP request size (max 8192)...skip", "--set uwsgi-php.buffer-size=65535 (now 8192)"),
            (
                swoole,
                "Request Entity Too Large: header-length (90) + content-length (9000000) is greater than the \
                 package_max_length(8388608)",
                "--set swoole.package_max_length=16777216",
            ),
            (
                roadrunner,
                "ERROR http request body max size is exceeded",
                "--set roadrunner.http.max_request_size=16000",
            ),
            (
                roadrunner,
                "1795678298\terror\thttp\trequest forming error\t{\"error\": \"http: request body too large\"}",
                "--set roadrunner.http.max_request_size=16000",
            ),
            (uwsgi, "PDOException: could not find driver in /app/x.php", "extensions: [pdo_sqlite]"),
            (uwsgi, "RuntimeException: No application encryption key has been specified.", "php artisan key:generate"),
            (uwsgi, "Vite manifest not found at: /app/public/build/manifest.json", "npm run build"),
            (uwsgi, "SQLSTATE[HY000]: General error: 1 no such table: sessions", "php artisan migrate"),
            (
                uwsgi,
                "SQLSTATE[42S02]: Base table or view not found: 1146 Table 'shop.posts' doesn't exist",
                "--database dump.sql",
            ),
            (
                uwsgi,
                "SQLSTATE[42P01]: Undefined table: 7 ERROR:  relation \"posts\" does not exist",
                "do so under prepare",
            ),
            (uwsgi, "SQLSTATE[HY000]: General error: 8 attempt to write a readonly database", "the copy there belongs"),
            (uwsgi, "Composer detected issues in your platform: Your Composer dependencies require", "--php"),
            (uwsgi, "SuspiciousOperationException: Untrusted Host \"127.0.0.1:2001\".", "trusted hosts"),
        ] {
            let [found] = &fixes(case, "", [line])[..] else { panic!("{line}") };
            assert!(found.contains(fix), "{found}\n{fix}");
        }
    }

    #[test]
    fn a_fix_is_told_once_and_never_of_a_setting_that_the_case_lacks() {
        let line = "upstream sent too big header";
        assert_eq!(
            fixes(&case("nginx-fpm", &[("fastcgi_buffer_size", 4096)]), "", [line, line, "all is well"]).len(),
            1
        );
        assert_eq!(fixes(&case("custom", &[]), "", [line, "client intended to send too large body: 9 bytes"]), [""; 0]);
    }

    #[test]
    fn a_status_tells_what_no_log_does() {
        let workerman = case("workerman", &[("defaultMaxPackageSize", 8 << 20)]);
        let problem = "gave a wrong answer to `upload`: status 200 OK was expected, and 413 Content Too Large came\nbody: (empty)";
        assert_eq!(
            fixes(&workerman, problem, []),
            [
                "fix: the body of the request is larger than the server allows: --set workerman.defaultMaxPackageSize=134217728 \
              (now 8388608)"
            ]
        );
        assert_eq!(fixes(&workerman, "status 200 OK was expected, and 404 Not Found came", []), [""; 0]);
        let limited =
            "answered none of 9 requests rightly; the first: status 429 Too Many Requests came instead of 200 OK";
        assert!(fixes(&workerman, limited, [])[0].ends_with("turn its rate limit off"));
        let nginx = case("nginx-fpm", &[("large_client_header_buffers", 8192)]);
        let page = "status 400, body: <center>Request Header Or Cookie Too Large</center>";
        assert!(fixes(&nginx, page, [])[0].contains("--set nginx-fpm.large_client_header_buffers=131072 (now 8192)"));
    }
}
