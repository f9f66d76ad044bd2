//! What PHP's threads ran of the engine, its libraries and the kernel, by samples of machine code.

use std::collections::BTreeMap;

use stampede_core::{Estimate, InsideCode, InsideRecord};

use super::{MOST_ROWS, Weighed, estimate, merged};
use crate::metric::ratio;

/// A part of the engine, a library or the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeTime {
    /// Which: [`engine_part`], or the file.
    pub what: String,
    /// Of the time that PHP's threads ran; of that outside the kernel where the kernel could not be seen.
    pub share: Estimate,
    /// Its functions that were seen most often.
    pub most: Vec<String>,
}

/// Functions that are named of each part.
const MOST_NAMES: usize = 3;

/// Name of the part that looks for cycles of values that refer to each other.
pub(crate) const GARBAGE_COLLECTION: &str = "garbage collection";

/// Parts of PHP's engine by how the names of their functions begin: those of its source files in `Zend/` and `main/`.
const ENGINE: &[(&str, &[&str])] = &[
    (GARBAGE_COLLECTION, &["gc_", "zend_gc_"]),
    ("opcodes", &["execute_ex", "zend_execute", "zend_vm_", "zend_interrupt", "zend_call_function", "zend_observer"]),
    (
        "compiling and linking",
        &[
            "compile_",
            "zend_compile",
            "zendparse",
            "zendlex",
            "lex_scan",
            "zend_ast",
            "zend_do_link",
            "zend_try_link",
            "zend_optimize",
            "zend_dfa",
            "zend_cfg",
            "zend_ssa",
            "zend_dump",
            "pass_two",
            "zend_file_cache",
            "zend_persist",
            "destroy_op_array",
            "destroy_zend_class",
            "zend_accel",
            "open_file_for_scanning",
            "do_inherit",
            "zend_verify",
            "zend_function_dtor",
            "init_op_array",
            "zend_include_or_eval",
        ],
    ),
    (
        "memory",
        &[
            "_emalloc",
            "_efree",
            "_erealloc",
            "_ecalloc",
            "_estrdup",
            "_estrndup",
            "_safe_",
            "_zend_mm",
            "zend_mm_",
            "malloc",
            "_int_malloc",
            "_int_free",
            "free",
            "cfree",
            "calloc",
            "realloc",
            "zend_arena",
        ],
    ),
    (
        "hash tables",
        &["zend_hash", "_zend_hash", "zend_array", "_zend_new_array", "zend_symtable", "zend_sort", "zend_insert_sort"],
    ),
    (
        "objects and classes",
        &[
            "zend_std_",
            "zend_objects",
            "zend_object_",
            "object_",
            "zend_lookup_class",
            "zend_fetch_class",
            "zend_get_properties",
            "instanceof_",
            "zend_update_class",
            "rebuild_object",
        ],
    ),
    (
        "strings and values",
        &[
            "zend_string",
            "smart_str",
            "zend_interned",
            "zval_",
            "zend_strtod",
            "zend_gcvt",
            "concat_function",
            "rc_dtor",
            "zend_is_",
            "php_addslashes",
            "php_trim",
            "php_str",
            "zend_dval",
            "zend_long_to",
            "compare_",
            "zend_compare",
            "fast_",
        ],
    ),
    ("regular expressions", &["pcre2_", "php_pcre", "preg_"]),
    ("output", &["php_output", "php_write", "php_printf", "php_spintf", "php_formatted"]),
    (
        "start and end of requests",
        &[
            "php_request",
            "zend_activate",
            "zend_deactivate",
            "shutdown_",
            "init_executor",
            "sapi_",
            "zend_ini_",
            "php_execute",
            "php_hash_environment",
            "zend_cleanup",
            "zend_activate_modules",
            "zend_call_destructors",
            "zend_set_timeout",
            "zend_unset_timeout",
        ],
    ),
    (
        "streams and files",
        &[
            "php_stream",
            "_php_stream",
            "php_plain",
            "tsrm_real",
            "virtual_",
            "php_resolve_path",
            "zend_stream",
            "expand_filepath",
            "php_sock",
        ],
    ),
];

/// The part of PHP's engine that a function belongs to. One whose name is unknown belongs to that of both its neighbours.
fn engine_part(symbol: &str) -> Option<&'static str> {
    if let Some((before, after)) = symbol.split_once(" .. ") {
        return engine_part(before).filter(|part| engine_part(after) == Some(part));
    }
    let begins = |(_, names): &&(&str, &[&str])| names.iter().any(|name| symbol.starts_with(name));
    ENGINE.iter().find(begins).map(|(part, _)| *part)
}

fn what(code: &InsideCode) -> String {
    let part = code.symbol.as_deref().and_then(engine_part).filter(|_| !is_a_library_of_its_own(&code.file));
    match (part, code.file.as_str()) {
        (Some(part), _) => part.to_owned(),
        (None, file) if file.starts_with("libpcre2") => "regular expressions".to_owned(),
        (None, InsideCode::GENERATED) => "JIT-compiled code".to_owned(),
        (None, file) if is_php(file) => format!("other code of {file}"),
        (None, file) => file.to_owned(),
    }
}

/// The names of the engine's functions mean nothing in others' libraries, but those of the C library, which gives memory to all.
fn is_a_library_of_its_own(file: &str) -> bool {
    let is_known = is_php(file) || file.starts_with("libc.") || file.starts_with("libc-") || file == "opcache.so";
    !is_known && (file.starts_with("lib") || file.ends_with(".so"))
}

fn is_php(file: &str) -> bool {
    file.contains("php") && !file.ends_with(".so") || file.starts_with("libphp")
}

/// What the threads of some trials ran, the largest first.
pub(super) fn native(trials: &[Weighed<'_>]) -> Vec<NativeTime> {
    let mut names: BTreeMap<String, BTreeMap<&str, u64>> = BTreeMap::new();
    let of_trial = |record: &InsideRecord| {
        let all = record.native.samples() as f64;
        let mut shares: BTreeMap<String, f64> = BTreeMap::new();
        for code in &record.native.code {
            *shares.entry(what(code)).or_default() += ratio(code.samples as f64, all).unwrap_or_default();
        }
        shares
    };
    let sampled = || trials.iter().map(|trial| trial.record).filter(|record| record.native.samples() > 0);
    for code in sampled().flat_map(|record| &record.native.code) {
        if let Some(symbol) = &code.symbol {
            *names.entry(what(code)).or_default().entry(symbol).or_default() += code.samples;
        }
    }
    let mut rows = merged(sampled().map(of_trial).collect());
    rows.truncate(MOST_ROWS);
    let row = |(what, share): (String, Estimate)| {
        let mut most: Vec<(&str, u64)> = names.remove(&what).unwrap_or_default().into_iter().collect();
        most.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        let most = most.into_iter().take(MOST_NAMES).map(|(name, _)| name.to_owned()).collect();
        NativeTime { what, share, most }
    };
    rows.into_iter().map(row).collect()
}

/// Fewer samples tell no share: of 100 the standard error of a tenth is 3 percentage points.
const LEAST_SAMPLES: u64 = 100;

/// The share of their running time that the threads of a case spend in a part of the engine, in the mean over trials that were sampled;
/// 0 where there are too few samples.
pub(crate) fn part_share(trials: &[Weighed<'_>], part: &str) -> f64 {
    if trials.iter().map(|trial| trial.record.native.samples()).sum::<u64>() < LEAST_SAMPLES {
        return 0.0;
    }
    let of_trial = |trial: &Weighed<'_>| {
        let native = &trial.record.native;
        let within = native.code.iter().filter(|code| what(code) == part).map(|code| code.samples).sum::<u64>();
        ratio(within as f64, native.samples() as f64)
    };
    estimate(trials.iter().filter_map(of_trial)).value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_belong_to_a_part_of_the_engine_or_to_their_library() {
        for (file, symbol, expected) in [
            ("php-fpm8.2", Some("execute_ex"), "opcodes"),
            ("php-fpm8.2", Some("gc_possible_root .. zend_gc_get_status"), "garbage collection"),
            ("php-fpm8.2", Some("zend_gc_get_status .. execute_ex"), "other code of php-fpm8.2"),
            ("php-fpm8.2", None, "other code of php-fpm8.2"),
            ("libphp.so", Some("_emalloc_56"), "memory"),
            ("libc.so.6", Some("malloc"), "memory"),
            ("libc.so.6", Some("memcpy"), "libc.so.6"),
            ("libpcre2-8.so.0.11.2", Some("pcre2_match_8"), "regular expressions"),
            ("libpcre2-8.so.0.11.2", None, "regular expressions"),
            ("libcrypto.so.3", Some("gc_something"), "libcrypto.so.3"),
            ("kernel", None, "kernel"),
            ("generated code", None, "JIT-compiled code"),
            ("frankenphp", Some("zend_hash_find"), "hash tables"),
            ("frankenphp", Some("runtime.mallocgc"), "other code of frankenphp"),
        ] {
            let code = InsideCode { file: file.to_owned(), symbol: symbol.map(str::to_owned), samples: 1 };
            assert_eq!(what(&code), expected, "{file} {symbol:?}");
        }
    }
}
