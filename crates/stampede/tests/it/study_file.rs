//! A study that goes from one store to another in a file.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::stage::Stage;

/// A study with something in every record.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/data/version-13.stampede-study");

#[test]
fn a_study_that_was_imported_is_shown_reported_and_exported_again() {
    let stage = Stage::new();
    let said = stage.run(&["import-study", FILE]);
    let expected = "study 0713-a is stored; see it with: stampede show 0713-a\n";
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), expected), "{}", said.stderr);
    let again = stage.run(&["import-study", FILE]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains("stored already"), "{}", again.stdout);

    let listed = stage.run(&["list", "studies"]);
    assert!(listed.stdout.contains("0713-a") && listed.stdout.contains("(imported)"), "{}", listed.stdout);
    for args in [vec!["show", "latest"], vec!["show", "0713", "--json", "-"], vec!["report", "0713", "-o", "-"]] {
        let said = stage.run(&args);
        assert_eq!(said.code, Some(0), "{args:?}: {}", said.stderr);
        assert!(said.stdout.contains("nginx-fpm"), "{args:?}: {}", said.stdout);
    }
    let resumed = stage.run(&["compare", "markdown", "--resume", "0713"]);
    assert_eq!(resumed.code, Some(2), "{}", resumed.stderr);

    let copy = stage.home().join("copy.stampede-study");
    let exported = stage.run(&["export-study", "latest", copy.to_str().unwrap()]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    assert!(exported.stdout.contains("contains study 0713-a"), "{}", exported.stdout);
    let piped = stage.output(&mut stage.command(&["export-study", "0713-a", "-"]));
    assert_eq!(piped.stdout, fs::read(&copy).unwrap());

    let other = stage.home().join("other.db");
    let args = ["import-study", "-", "--store", other.to_str().unwrap()];
    let taken = stage.output(stage.command(&args).stdin(Stdio::from(fs::File::open(&copy).unwrap())));
    assert_eq!(taken.status.code(), Some(0), "{taken:?}");
}

#[test]
fn a_file_that_is_not_whole_changes_nothing() {
    let stage = Stage::new();
    let whole = fs::read(FILE).unwrap();
    let path = stage.home().join("bad.stampede-study");
    let mut altered = whole.clone();
    altered[1_000] ^= 1;
    let newer = String::from_utf8_lossy(&whole[..17]).replace(" 1", " 9").into_bytes();
    for (name, bytes, says) in [
        ("cut short", &whole[..whole.len() - 1], "cut short"),
        ("altered", &altered, "checksum"),
        ("newer", &[newer, whole[16..].to_vec()].concat(), "update"),
        ("another file", b"hello\n", "export-study"),
    ] {
        fs::write(&path, bytes).unwrap();
        let said = stage.run(&["import-study", path.to_str().unwrap()]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}: {}", said.stderr);
        assert!(said.stderr.contains(says) && said.stderr.contains("bad.stampede-study"), "{name}: {}", said.stderr);
    }
    assert!(!stage.store().exists(), "a store was made");
    let missing = stage.run(&["import-study", "/no/such/file"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    let unknown = stage.run(&["export-study", "1999", path.to_str().unwrap()]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
}

#[test]
fn names_of_an_imported_study_reach_no_terminal_as_they_are() {
    if Command::new("sqlite3").arg("--version").output().is_err() {
        let _ =
            writeln!(std::io::stderr(), "SKIP names_of_an_imported_study_reach_no_terminal_as_they_are: needs sqlite3");
        return;
    }
    let stage = Stage::new();
    assert_eq!(stage.run(&["import-study", FILE]).code, Some(0));
    let hostile = "UPDATE study SET workload = 'a' || char(27) || '[2Jb', cpu_model = char(27) || ']0;x' || char(7); \
                   UPDATE study_case SET runtime_version = char(27) || '[31m', platform = char(27) || 'c'; \
                   UPDATE trial SET reason = char(27) || '[2J' WHERE reason IS NOT NULL;";
    let changed = Command::new("sqlite3").arg(stage.store()).arg(hostile).status().unwrap();
    assert!(changed.success());
    let file = stage.home().join("hostile");
    assert_eq!(stage.run(&["export-study", "latest", file.to_str().unwrap()]).code, Some(0));
    let other = stage.home().join("other.db");
    let store = ["--store", other.to_str().unwrap()];
    let imported = stage.run(&[&["import-study", file.to_str().unwrap()][..], &store].concat());
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    for args in [&["list", "studies"][..], &["show", "latest"], &["show", "latest", "--markdown", "-"]] {
        let said = stage.run(&[args, &store].concat());
        assert_eq!(said.code, Some(0), "{args:?}: {}", said.stderr);
        assert!(!said.stdout.contains(['\u{1b}', '\u{7}']), "{args:?}: {:?}", said.stdout);
    }
}

#[test]
fn help_says_what_a_study_file_is() {
    for (command, name) in [("export-study", "help_export_study"), ("import-study", "help_import_study")] {
        let said = Stage::new().run(&[command, "--help"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert_snapshot!(name, said.stdout);
    }
}
