//! A study in a file of its own, as it goes from one store to another.

use std::fs;
use std::io::{self, Read, Write as _};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use stampede_core::StudyId;
use stampede_store::{Import, Store, StoreError, StoredStudy, StudyFileError, read_study_file};

use crate::samples;

/// A store with one study that has everything.
fn store(folder: &tempfile::TempDir) -> (Store, StoredStudy) {
    let mut store = Store::open(&folder.path().join("s.db")).unwrap();
    let study = samples::study("0713-a", 1_700_000_000);
    store.begin_study(&study).unwrap();
    samples::trials().iter().for_each(|trial| store.add_trial(&study.id, trial).unwrap());
    samples::readings().iter().for_each(|reading| store.add_reading(&study.id, reading).unwrap());
    store.finish_study(&study.id, Timestamp::new(1_700_000_100, 5).unwrap()).unwrap();
    let stored = store.load("0713-a").unwrap();
    (store, stored)
}

fn now() -> Timestamp {
    Timestamp::new(1_800_000_000, 0).unwrap()
}

#[test]
fn a_study_goes_from_one_store_to_another_and_back() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (mut first, stored) = store(&folders[0]);
    // What is beside it stays where it is.
    first.begin_study(&samples::study("0713-b", 1_700_000_001)).unwrap();
    let (id, file) = first.export("0713-a").unwrap();
    assert_eq!((id.as_str(), read_study_file(&file[..]).unwrap()), ("0713-a", stored.clone()));

    let mut second = Store::open(&folders[1].path().join("s.db")).unwrap();
    // Its trials must not get the numbers that they had.
    let other = samples::study("other", 1);
    second.begin_study(&other).unwrap();
    second.add_trial(&other.id, &samples::measured("go", 1)).unwrap();
    second.add_reading(&other.id, &samples::readings()[0]).unwrap();
    assert_eq!(second.import(&stored, now()).unwrap(), Import::Stored);
    assert_eq!(second.import(&stored, now()).unwrap(), Import::WasThere);
    assert_eq!(second.load("0713-a").unwrap(), stored);
    assert_eq!(second.load("other").unwrap().trials.len(), 1);
    let imported: Vec<_> = second.studies().unwrap().iter().map(|row| (row.id.clone(), row.imported_at)).collect();
    assert_eq!(imported, [(stored.study.id.clone(), Some(now())), (other.id, None)]);
    // That it was imported, and under which numbers, is no part of it.
    assert_eq!(read_study_file(&second.export("0713").unwrap().1[..]).unwrap(), stored);

    assert_eq!(first.import(&read_study_file(&file[..]).unwrap(), now()).unwrap(), Import::WasThere);
    let mut changed = stored.clone();
    changed.trials.pop();
    let error = first.import(&changed, now()).unwrap_err();
    assert!(matches!(&error, StoreError::Different(id) if id.as_str() == "0713-a"), "{error:?}");
    assert!(error.to_string().contains("--store"), "{error}");
    assert_eq!(first.load("0713-a").unwrap(), stored);
    assert!(matches!(first.export("1999"), Err(StoreError::Unknown { .. })));
}

#[test]
fn a_study_is_imported_wholly_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut stored) = store(&folder);
    stored.study.id = StudyId::new("half");
    let last = stored.trials.last_mut().unwrap();
    last.case = stampede_core::CaseId::new("no such case");
    let mut second = Store::open(&folder.path().join("second.db")).unwrap();
    assert!(second.import(&stored, now()).is_err());
    assert_eq!(second.studies().unwrap(), []);
}

#[test]
fn a_file_that_was_cut_short_or_altered_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = store(&folder);
    let (_, file) = store.export("latest").unwrap();
    let header = file.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let some = |from: usize| (0..header.max(200)).chain((from..file.len()).step_by(97)).filter(|at| *at < file.len());
    for length in some(0).filter(|length| *length > 0) {
        let error = read_study_file(&file[..length]).unwrap_err();
        assert!(matches!(error, StudyFileError::Short), "{length} of {}: {error:?}", file.len());
    }
    assert!(matches!(read_study_file(&b""[..]), Err(StudyFileError::Foreign)));
    for at in some(header) {
        let mut altered = file.clone();
        altered[at] ^= 1;
        assert!(read_study_file(&altered[..]).is_err(), "byte {at} of {}", file.len());
    }
    let longer = [&file[..], b"\n"].concat();
    let error = read_study_file(&longer[..]).unwrap_err();
    assert!(matches!(error, StudyFileError::Altered), "{error:?}");
    assert!(error.to_string().contains("checksum"), "{error}");
}

/// A body under a first line that fits it.
fn under_header(layout: u32, body: &[u8]) -> Vec<u8> {
    let sum: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    [format!("stampede-study {layout} {} {sum}\n", body.len()).as_bytes(), body].concat()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(content).unwrap();
    packer.finish().unwrap()
}

#[test]
fn what_is_no_study_file_is_told() {
    type Is = fn(&StudyFileError) -> bool;
    let rows: [(&str, Vec<u8>, Is); 7] = [
        ("another file", b"SQLite format 3\0 and so on".to_vec(), |error| matches!(error, StudyFileError::Foreign)),
        ("another layout", under_header(2, b"?"), |error| matches!(error, StudyFileError::Newer { .. })),
        ("no such layout", under_header(0, b"?"), |error| matches!(error, StudyFileError::Altered)),
        ("not packed", under_header(1, b"{}"), |error| matches!(error, StudyFileError::Content(_))),
        ("no JSON", under_header(1, &gzip(b"?")), |error| matches!(error, StudyFileError::Content(_))),
        ("another JSON", under_header(1, &gzip(b"{\"a\":1}")), |error| matches!(error, StudyFileError::Content(_))),
        ("a first line without end", [b"stampede-study 1 ", &[b'1'; 200][..]].concat(), |error| {
            matches!(error, StudyFileError::Altered)
        }),
    ];
    for (name, file, is) in rows {
        let error = read_study_file(&file[..]).unwrap_err();
        assert!(is(&error), "{name}: {error:?}");
    }
    let endless = b"stampede-study 1 ".chain(io::repeat(b'1'));
    assert!(matches!(read_study_file(endless), Err(StudyFileError::TooLarge { .. })));
}

/// A file of every version that wrote files. That of a new version is added by `UPDATE_STUDY_FILE=1 cargo test -p
/// stampede-store kept`; those that are there never change.
#[test]
fn files_that_were_kept_are_read() {
    let data = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"));
    let folder = tempfile::tempdir().unwrap();
    let (store, stored) = store(&folder);
    let sqlite = rusqlite::Connection::open(folder.path().join("s.db")).unwrap();
    let version: i64 = sqlite.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let newest = data.join(format!("version-{version}.stampede-study"));
    if std::env::var_os("UPDATE_STUDY_FILE").is_some() && !newest.exists() {
        fs::write(&newest, store.export("latest").unwrap().1).unwrap();
    }
    assert!(newest.exists(), "run: UPDATE_STUDY_FILE=1 cargo test -p stampede-store kept");
    for entry in fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        let read = read_study_file(fs::File::open(&path).unwrap()).unwrap();
        if path == newest {
            assert_eq!(read, stored);
        }
        // What later versions added is not in older files.
        let core = |stored: &StoredStudy| (stored.study.cases.len(), stored.trials.len(), stored.yard_stick.clone());
        assert_eq!(core(&read), core(&stored), "{}", path.display());
    }
}
