//! Every runtime that there is. A new one is a file, a template folder and a row here.

use stampede_core::Runtime;

use crate::apache_fpm::ApacheFpm;
use crate::apache_mod_php::ApacheModPhp;
use crate::caddy_fpm::CaddyFpm;
use crate::custom::Custom;
use crate::frankenphp::FrankenPhp;
use crate::frankenphp_binary::FrankenPhpBinary;
use crate::functions_framework_go::FunctionsFrameworkGo;
use crate::functions_framework_php::FunctionsFrameworkPhp;
use crate::go::Go;
use crate::image::Image;
use crate::nginx_fpm::NginxFpm;
use crate::php_cli_server::PhpCliServer;
use crate::roadrunner::RoadRunner;
use crate::swoole::Swoole;
use crate::uwsgi_php::UwsgiPhp;
use crate::webman::Webman;
use crate::workerman::Workerman;

/// All runtimes, in the order in which they are listed and compared by default.
pub fn all() -> &'static [&'static dyn Runtime] {
    &[
        &ApacheModPhp,
        &ApacheFpm,
        &NginxFpm,
        &CaddyFpm,
        &UwsgiPhp,
        &PhpCliServer,
        &FrankenPhp,
        &FrankenPhpBinary,
        &RoadRunner,
        &Swoole,
        &Workerman,
        &Webman,
        &FunctionsFrameworkPhp,
        &FunctionsFrameworkGo,
        &Go,
        &Custom,
        &Image,
    ]
}

/// The runtime of this name.
pub fn by_id(id: &str) -> Option<&'static dyn Runtime> {
    all().iter().copied().find(|runtime| runtime.id().as_str() == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_runtime_is_found_by_its_own_name_and_no_two_share_one() {
        for runtime in all() {
            let found = by_id(runtime.id().as_str()).expect("listed");
            assert_eq!(found.title(), runtime.title());
        }
        let names: BTreeSet<_> = all().iter().map(|runtime| runtime.id()).collect();
        assert_eq!(names.len(), all().len());
        assert!(by_id("nginx").is_none());
    }

    #[test]
    fn every_tunable_has_a_name_of_its_own_a_summary_and_a_page_in_a_manual() {
        for runtime in all() {
            let names: BTreeSet<_> = runtime.tunables().iter().map(|row| row.name).collect();
            assert_eq!(names.len(), runtime.tunables().len(), "{}", runtime.id());
            for tunable in runtime.tunables() {
                assert!(!tunable.summary.is_empty(), "{}", tunable.name);
                assert!(tunable.manual.starts_with("https://"), "{}: {}", tunable.name, tunable.manual);
            }
        }
    }
}
