//! The offsets of the PHP whose headers are installed, by its own compiler.

#![expect(clippy::expect_used, reason = "a step that fails is a test that fails")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use stampede_inside::{Offsets, PhpVersion};

const PROGRAM: &str = r#"
#include <stddef.h>
#include <stdio.h>
#include "php.h"
#include "SAPI.h"
#include "php_version.h"
#define SHOW(type, field) printf(#type "." #field " %zu\n", offsetof(type, field))
int main(void) {
    printf("version %d.%d.%d\n", PHP_MAJOR_VERSION, PHP_MINOR_VERSION, PHP_RELEASE_VERSION);
    SHOW(zend_executor_globals, symbol_table);
    SHOW(zend_executor_globals, vm_stack_top);
    SHOW(zend_executor_globals, vm_stack_end);
    SHOW(zend_executor_globals, vm_stack);
    SHOW(zend_executor_globals, current_execute_data);
    SHOW(zend_execute_data, opline);
    SHOW(zend_execute_data, func);
    SHOW(zend_execute_data, prev_execute_data);
    printf("zend_execute_data %zu\n", sizeof(zend_execute_data));
    SHOW(zend_op_array, type);
    SHOW(zend_op_array, function_name);
    SHOW(zend_op_array, scope);
    SHOW(zend_op_array, last);
    SHOW(zend_op_array, opcodes);
    SHOW(zend_op_array, filename);
    SHOW(zend_op_array, line_start);
    SHOW(zend_op, lineno);
    printf("zend_op %zu\n", sizeof(zend_op));
    SHOW(zend_class_entry, name);
    SHOW(zend_string, h);
    SHOW(zend_string, len);
    SHOW(zend_string, val);
    SHOW(zend_array, nTableMask);
    SHOW(zend_array, arData);
    SHOW(Bucket, val.u1.v.type);
    SHOW(Bucket, val.u2.next);
    SHOW(Bucket, h);
    SHOW(Bucket, key);
    printf("Bucket %zu\n", sizeof(Bucket));
    SHOW(zend_reference, val);
    SHOW(sapi_globals_struct, request_info.request_uri);
    return 0;
}
"#;

/// Folders of headers of PHP: `STAMPEDE_TEST_PHP_HEADERS`, as `PATH` is written, or those of the `php-config` in `PATH`.
fn folders() -> Vec<PathBuf> {
    if let Some(given) = std::env::var_os("STAMPEDE_TEST_PHP_HEADERS") {
        return std::env::split_paths(&given).collect();
    }
    let output = Command::new("php-config").arg("--include-dir").output();
    let folder = output.ok().map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    folder.filter(|folder| folder.join("main/php.h").exists()).into_iter().collect()
}

#[test]
fn offsets_are_those_of_the_headers() {
    let folders = folders();
    if folders.is_empty() || Command::new("cc").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "SKIP offsets_are_those_of_the_headers: needs php-config (php-dev) and cc");
        return;
    }
    for folder in folders {
        check(&folder);
    }
}

fn check(headers: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("offsets.c"), folder.path().join("offsets"));
    fs::write(&source, PROGRAM).expect("a file");
    let mut compiler = Command::new("cc");
    for part in ["", "main", "Zend", "TSRM"] {
        compiler.arg("-I").arg(headers.join(part));
    }
    let compiled = compiler.arg("-w").arg("-o").args([&program, &source]).output().expect("cc is there");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).output().expect("it was compiled");
    let text = String::from_utf8(output.stdout).expect("text");
    let found: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.rsplit_once(' ')).collect();
    let version: PhpVersion = found["version"].parse().expect("a version");
    let offsets = Offsets::of(version).expect("a known version");
    let Offsets { current_frame, last, opcodes, file, first_line } = offsets;
    let expected = [
        ("zend_executor_globals.symbol_table", 304),
        ("zend_executor_globals.vm_stack_top", current_frame - 32),
        ("zend_executor_globals.vm_stack_end", current_frame - 24),
        ("zend_executor_globals.vm_stack", current_frame - 16),
        ("zend_executor_globals.current_execute_data", current_frame),
        ("zend_execute_data.opline", 0),
        ("zend_execute_data.func", 24),
        ("zend_execute_data.prev_execute_data", 48),
        ("zend_execute_data", 80),
        ("zend_op_array.type", 0),
        ("zend_op_array.function_name", 8),
        ("zend_op_array.scope", 16),
        ("zend_op_array.last", last as u64),
        ("zend_op_array.opcodes", opcodes as u64),
        ("zend_op_array.filename", file as u64),
        ("zend_op_array.line_start", first_line as u64),
        ("zend_op.lineno", 24),
        ("zend_op", 32),
        ("zend_class_entry.name", 8),
        ("zend_string.h", 8),
        ("zend_string.len", 16),
        ("zend_string.val", 24),
        ("zend_array.nTableMask", 12),
        ("zend_array.arData", 16),
        ("Bucket.val.u1.v.type", 8),
        ("Bucket.val.u2.next", 12),
        ("Bucket.h", 16),
        ("Bucket.key", 24),
        ("Bucket", 32),
        ("zend_reference.val", 8),
        ("sapi_globals_struct.request_info.request_uri", 48),
    ];
    for (name, offset) in expected {
        assert_eq!(found.get(name).copied(), Some(offset.to_string().as_str()), "{version}: {name}");
    }
    let _ = writeln!(std::io::stderr(), "PHP {version} in {}: as expected", headers.display());
}
