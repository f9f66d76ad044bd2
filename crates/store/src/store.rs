//! The store: what can be kept and what can be asked for.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use stampede_core::{Case, OpenPart, OpenStudy, StoredStudy, Study, StudyId, Trial, WindowsFrom, YardStickReading};
use thiserror::Error;

use crate::schema::{self, Kind, VERSION};
use crate::study_row::{StudyRow, StudyState};
use crate::{study_file, study_rows, trial_rows, yard_stick_rows};

/// How long to wait for another process that writes. A write takes milliseconds.
const BUSY: Duration = Duration::from_secs(10);

/// How long to wait before the copy of an older store that another process has locked is tried again.
const PAUSE: Duration = Duration::from_millis(10);

/// The name that means the newest study.
const LATEST: &str = "latest";

/// An opened store. Several processes may have the same one open.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// What became of a study that was to be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Import {
    /// It is stored now.
    Stored,
    /// It was there already, the same in everything.
    WasThere,
}

impl Store {
    /// Opens a store to write to, makes it (with its folders) where there is none, and brings an older one up to date.
    ///
    /// # Errors
    ///
    /// When the place cannot be written to, or the file is not a store or one of a newer version; see [`StoreError`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|source| StoreError::Folder { folder: folder.to_owned(), source })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let store = Self::connect(path, flags)?;
        // SQLite opens a file that it may not write to all the same, for reading.
        match store.connection.is_readonly(MAIN_DB) {
            Ok(false) => Ok(store),
            Ok(true) => Err(StoreError::ReadOnly { path: path.to_owned(), source: None }),
            Err(source) => Err(StoreError::of(path, source)),
        }
    }

    /// Opens a store to read from; it is not changed. Where there is none, it reads as an empty one and no file is made. One of an
    /// older version is read from a copy that is brought up to date and gone when this is dropped: the file itself is only changed
    /// by who [opens it to write](Self::open).
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is not a store, or is one of a newer version; see [`StoreError`].
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        let exists = path.try_exists().map_err(|source| StoreError::Folder { folder: path.to_owned(), source })?;
        if exists {
            Self::connect_to_read(path)
        } else {
            Self::connect(Path::new(":memory:"), OpenFlags::SQLITE_OPEN_READ_WRITE)
        }
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let failed = |source| StoreError::of(path, source);
        let (mut connection, version) = connected(path, flags)?;
        configure(&connection).map_err(failed)?;
        if version < VERSION {
            schema::migrate(&mut connection).map_err(failed)?;
        }
        Ok(Self { connection, path: path.to_owned() })
    }

    /// What only reads opens the file to write all the same: SQLite needs a log beside it, which who may only read would leave
    /// behind (<https://sqlite.org/wal.html>, "Read-Only Databases").
    fn connect_to_read(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::of(path, source);
        let (mut connection, version) = connected(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if version < VERSION {
            connection = up_to_date_copy(&connection).map_err(failed)?;
        }
        connection.pragma_update(None, "query_only", true).map_err(failed)?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Keeps a study that begins.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or a study of that name is there.
    pub fn begin_study(&mut self, study: &Study) -> Result<(), StoreError> {
        self.write(|transaction| study_rows::insert(transaction, study))
    }

    /// Keeps a case that joins a study that was begun.
    ///
    /// # Errors
    ///
    /// When it cannot be written, the study is unknown, or it has a case of that name.
    pub fn add_case(&mut self, study: &StudyId, case: &Case) -> Result<(), StoreError> {
        self.write(|transaction| study_rows::add_case(transaction, study, case))
    }

    /// Keeps a trial of a study that was begun. Once this has returned, the trial survives the death of the process and,
    /// where the disk keeps its promises, the loss of power.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or the study or its case is unknown or has a trial in that block.
    pub fn add_trial(&mut self, study: &StudyId, trial: &Trial) -> Result<(), StoreError> {
        self.write(|transaction| trial_rows::insert(transaction, study, trial))
    }

    /// Keeps what the yard-stick showed in a block of a study that was begun.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or the study is unknown.
    pub fn add_reading(&mut self, study: &StudyId, reading: &YardStickReading) -> Result<(), StoreError> {
        self.write(|transaction| yard_stick_rows::insert(transaction, study, reading))
    }

    /// Keeps that an interrupted study is gone on with.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or the study is unknown.
    pub fn resume_study(&mut self, study: &StudyId, resumed_at: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| study_rows::insert_resumption(transaction, study, resumed_at))
    }

    /// Keeps that the time of a study is over before it was done.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or the study is unknown.
    pub fn end_time(&mut self, study: &StudyId, time_over_at: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| study_rows::insert_time_over(transaction, study, time_over_at))
    }

    /// Keeps from which block on a study is measured in windows.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or the study is unknown.
    pub fn end_turns(&mut self, study: &StudyId, windows_from: &WindowsFrom) -> Result<(), StoreError> {
        self.write(|transaction| study_rows::insert_windows_from(transaction, study, windows_from))
    }

    /// Keeps that a study has come to its end.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or the study is unknown or finished.
    pub fn finish_study(&mut self, study: &StudyId, finished_at: Timestamp) -> Result<(), StoreError> {
        self.write(|transaction| study_rows::insert_end(transaction, study, finished_at))
    }

    /// All studies, newest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn studies(&self) -> Result<Vec<StudyRow>, StoreError> {
        study_rows::list(&self.connection).map_err(|source| StoreError::of(&self.path, source))
    }

    /// How far a study of this whole name is; none where there is none. Nothing else of it is read.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn standing(&self, study: &StudyId) -> Result<Option<StudyState>, StoreError> {
        study_rows::standing(&self.connection, study).map_err(|source| StoreError::of(&self.path, source))
    }

    /// A study by its name, by the beginning of its name that no other shares, or by `latest`.
    ///
    /// # Errors
    ///
    /// When no study or more than one is meant, or the store cannot be read.
    pub fn load(&self, name: &str) -> Result<StoredStudy, StoreError> {
        let id = self.resolve(name)?;
        stored_study(&self.connection, &id).map_err(|source| StoreError::of(&self.path, source))
    }

    /// The open part of the comparison of this whole name; none where it has none.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn open_part(&self, comparison: &StudyId) -> Result<Option<OpenPart>, StoreError> {
        let shared = self.studies()?.into_iter().find_map(|row| match OpenStudy::read(&row.id)? {
            (of, share, OpenStudy::Shared) if of == *comparison => Some((row.id, share)),
            _ => None,
        });
        let Some((id, share)) = shared else { return Ok(None) };
        let shared = self.load(id.as_str())?;
        let own = OpenStudy::Own.id(comparison, share);
        let own = if self.standing(&own)?.is_some() { Some(self.load(own.as_str())?) } else { None };
        Ok(Some(OpenPart { share, shared, own }))
    }

    /// A study as a file that [`read_study_file`](crate::read_study_file) reads, with its whole name.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn export(&self, name: &str) -> Result<(StudyId, Vec<u8>), StoreError> {
        let id = self.resolve(name)?;
        let file = study_file::write(&self.connection, &id).map_err(|source| StoreError::of(&self.path, source))?;
        Ok((id, file))
    }

    /// Keeps a study that comes from another store, all of it or nothing.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or another study of that name is there.
    pub fn import(&mut self, stored: &StoredStudy, imported_at: Timestamp) -> Result<Import, StoreError> {
        let StoredStudy { study, finished_at, trials, yard_stick } = stored;
        if self.standing(&study.id)?.is_some() {
            let same = self.load(study.id.as_str())? == *stored;
            return if same { Ok(Import::WasThere) } else { Err(StoreError::Different(study.id.clone())) };
        }
        self.write(|transaction| {
            study_rows::insert(transaction, study)?;
            trials.iter().try_for_each(|trial| trial_rows::insert(transaction, &study.id, trial))?;
            yard_stick.iter().try_for_each(|reading| yard_stick_rows::insert(transaction, &study.id, reading))?;
            if let Some(finished_at) = finished_at {
                study_rows::insert_end(transaction, &study.id, *finished_at)?;
            }
            study_rows::insert_import(transaction, &study.id, imported_at)
        })?;
        Ok(Import::Stored)
    }

    fn resolve(&self, name: &str) -> Result<StudyId, StoreError> {
        let whole = StudyId::new(name);
        // Whoever reads all studies names them wholly: each is then found without a look at all others.
        if name != LATEST && self.standing(&whole)?.is_some() {
            return Ok(whole);
        }
        resolve(name, self.studies()?.into_iter().map(|row| row.id).collect())
    }

    fn write(
        &mut self,
        insert: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        self.connection
            .transaction()
            .and_then(|transaction| {
                insert(&transaction)?;
                transaction.commit()
            })
            .map_err(|source| StoreError::of(&self.path, source))
    }
}

/// All that is stored of a study that is there.
pub(crate) fn stored_study(connection: &Connection, id: &StudyId) -> rusqlite::Result<StoredStudy> {
    let found = study_rows::load(connection, id)?;
    let (study, finished_at) = found.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let trials = trial_rows::load(connection, id)?;
    let yard_stick = yard_stick_rows::load(connection, id)?;
    Ok(StoredStudy { study, finished_at, trials, yard_stick })
}

/// Opens a file and says of which version the store in it is. Nothing is changed.
fn connected(path: &Path, flags: OpenFlags) -> Result<(Connection, i64), StoreError> {
    let failed = |source| StoreError::of(path, source);
    // One thread at a time has the connection, which `&mut` and the lack of `Sync` ensure.
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    match schema::kind(&connection).map_err(failed)? {
        Kind::Foreign => Err(StoreError::Foreign(path.to_owned())),
        Kind::Store(found) if found > VERSION => {
            Err(StoreError::Newer { path: path.to_owned(), found, known: VERSION })
        }
        Kind::Store(version) => Ok((connection, version)),
    }
}

/// A copy of an older store in a temporary file of SQLite's, which nobody else sees and which goes with the connection.
fn up_to_date_copy(older: &Connection) -> rusqlite::Result<Connection> {
    let mut copy = Connection::open("")?;
    Backup::new(older, &mut copy)?.run_to_completion(c_int::MAX, PAUSE, None)?;
    schema::migrate(&mut copy)?;
    Ok(copy)
}

/// A write-ahead log, so that reports can be made while a study is stored. `FULL` syncs it at every commit, without which
/// a power loss could take the last trials (https://sqlite.org/pragma.html, `synchronous`); at one commit a trial that
/// costs nothing.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    if !connection.is_readonly(MAIN_DB)? {
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    }
    Ok(())
}

/// Which of the known studies (newest first) is meant, where it is not named wholly. The open part of a comparison is shown with it.
fn resolve(name: &str, known: Vec<StudyId>) -> Result<StudyId, StoreError> {
    let unknown = |known: Vec<StudyId>| StoreError::Unknown { name: name.to_owned(), known };
    let is_shown_with_another =
        |id: &StudyId| OpenStudy::read(id).is_some_and(|(comparison, ..)| known.contains(&comparison));
    let mut meant: Vec<StudyId> = known.iter().filter(|id| !is_shown_with_another(id)).cloned().collect();
    if name == LATEST {
        let latest = meant.into_iter().next();
        return latest.ok_or_else(|| unknown(known));
    }
    meant.retain(|id| !name.is_empty() && id.as_str().starts_with(name));
    match meant.as_slice() {
        [] => Err(unknown(known)),
        [id] => Ok(id.clone()),
        _ => Err(StoreError::Ambiguous { name: name.to_owned(), meant }),
    }
}

/// Why something cannot be stored or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The folder of the store cannot be made or entered.
    #[error(
        "open the store: {} is no folder that can be used; mend its permissions or choose another place for the store",
        folder.display()
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The file or its folder cannot be written to, which reading needs as well: SQLite keeps its log beside the file.
    #[error(
        "use the store {}: the file or its folder is read-only or missing; mend its permissions or choose another \
         place for the store",
        path.display()
    )]
    ReadOnly {
        /// The store.
        path: PathBuf,
        /// SQLite's words.
        source: Option<rusqlite::Error>,
    },
    /// No room is left.
    #[error(
        "write the store {}: the disk is full; free some space and run again (what was stored before is safe)",
        path.display()
    )]
    Full {
        /// The store.
        path: PathBuf,
        /// SQLite's words.
        source: rusqlite::Error,
    },
    /// Another process does not let go of the store.
    #[error(
        "write the store {}: another process has kept it locked for 10 s; end that process or wait for it, and run again",
        path.display()
    )]
    Busy {
        /// The store.
        path: PathBuf,
        /// SQLite's words.
        source: rusqlite::Error,
    },
    /// The file belongs to something else.
    #[error(
        "open the store {}: the file is not a Stampede store; it was left as it is, choose another place for the store",
        .0.display()
    )]
    Foreign(PathBuf),
    /// The store was written by a newer Stampede.
    #[error(
        "open the store {}: it is of version {found}, and this Stampede knows versions up to {known}; update Stampede, or \
         choose another place for the store (nothing was changed)",
        path.display()
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// The store's version.
        found: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// What is stored makes no sense.
    #[error("read the store {}: it is damaged; put it aside and go on with a new one", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What makes no sense.
        source: rusqlite::Error,
    },
    /// No study has this name.
    #[error("find study {name}: {}", known_studies(known))]
    Unknown {
        /// What was asked for.
        name: String,
        /// All studies, newest first.
        known: Vec<StudyId>,
    },
    /// The name is the beginning of several.
    #[error("find study {name}: it is the beginning of {}; give more of the name", names(meant))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The studies that begin like that, newest first.
        meant: Vec<StudyId>,
    },
    /// A study that was to be imported has the name of another.
    #[error(
        "import study {0}: a study of that name is stored with other records, and nothing that is stored is changed; give \
         another store with --store"
    )]
    Different(StudyId),
    /// Anything else that SQLite refuses.
    #[error("use the store {}", path.display())]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// SQLite's words.
        source: rusqlite::Error,
    },
}

impl StoreError {
    fn of(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly { path, source: Some(source) }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path, source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path, source },
            Some(ErrorCode::NotADatabase) => Self::Foreign(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, source },
            Some(_) => Self::Sqlite { path, source },
            // Not SQLite, but the values that came out of it.
            None => Self::Damaged { path, source },
        }
    }
}

fn known_studies(known: &[StudyId]) -> String {
    if known.is_empty() {
        return "no study is stored yet; `stampede compare` makes one".to_owned();
    }
    format!(
        "no stored study has this name or one that begins with it; the newest are {} (`stampede list studies` shows all)",
        names(known)
    )
}

fn names(ids: &[StudyId]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = ids.iter().take(SHOWN).map(StudyId::as_str).collect();
    let more = ids.len() - shown.len();
    match more {
        0 => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::read_study_file;
    use crate::study_file::matrix;

    /// The names of the files beside a store, and what is in it.
    fn content(path: &Path) -> (Vec<String>, Vec<u8>) {
        let names = fs::read_dir(path.parent().unwrap()).unwrap();
        let mut names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        (names, fs::read(path).unwrap())
    }

    #[test]
    fn who_reads_an_older_store_leaves_it_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        for (name, is_wal) in [("rollback.db", false), ("wal.db", true)] {
            let path = folder.path().join(name);
            let mut older = Connection::open(&path).unwrap();
            if is_wal {
                older.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
            }
            matrix::fill(&mut older, 16);
            older.execute("DELETE FROM study_end", []).unwrap();
            drop(older);

            let before = content(&path);
            let mut reader = Store::open_existing(&path).unwrap();
            let study = reader.load("latest").unwrap().study;
            assert!(reader.finish_study(&study.id, Timestamp::UNIX_EPOCH).is_err(), "it only reads");
            drop(reader);
            assert!(content(&path) == before, "{name}: {:?}", content(&path).0);

            let mut writer = Store::open(&path).unwrap();
            writer.finish_study(&study.id, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(schema::kind(&writer.connection).unwrap(), Kind::Store(VERSION));
        }
    }

    #[test]
    fn who_reads_changes_nothing_while_another_writes_and_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/version-17.stampede-study");
        let StoredStudy { study, trials, .. } = read_study_file(File::open(kept).unwrap()).unwrap();
        let mut writer = Store::open(&path).unwrap();
        writer.begin_study(&study).unwrap();
        let reader = Store::open_existing(&path).unwrap();
        writer.add_trial(&study.id, &trials[0]).unwrap();
        assert_eq!(reader.load("latest").unwrap().trials, trials[..1]);
        drop((writer, reader));
        let before = content(&path);
        let mut reader = Store::open_existing(&path).unwrap();
        assert_eq!(reader.load("latest").unwrap().trials, trials[..1]);
        assert!(reader.finish_study(&study.id, Timestamp::UNIX_EPOCH).is_err(), "it only reads");
        drop(reader);
        assert!(content(&path) == before);
    }

    #[test]
    fn a_study_is_found_by_name_by_its_beginning_or_as_the_latest() {
        let known = || ["0713-b", "0712-a", "0712-ab"].map(StudyId::new).to_vec();
        let with_open_part = || [&["0713-b.own70", "0713-b.at70"].map(StudyId::new)[..], &known()].concat();
        for name in ["latest", "0713"] {
            assert_eq!(resolve(name, with_open_part()).unwrap().as_str(), "0713-b", "{name}");
        }
        // Its comparison is in another store.
        assert_eq!(resolve("07", vec![StudyId::new("0713-b.at70")]).unwrap().as_str(), "0713-b.at70");
        for (name, found) in [("latest", "0713-b"), ("0712-ab", "0712-ab"), ("0713", "0713-b")] {
            assert_eq!(resolve(name, known()).unwrap().as_str(), found, "{name}");
        }
        for (name, words) in [
            ("0712", "find study 0712: it is the beginning of 0712-a, 0712-ab; give more of the name"),
            (
                "0714",
                "find study 0714: no stored study has this name or one that begins with it; the newest are 0713-b, \
                 0712-a, 0712-ab (`stampede list studies` shows all)",
            ),
            (
                "",
                "find study : no stored study has this name or one that begins with it; the newest are 0713-b, \
                 0712-a, 0712-ab (`stampede list studies` shows all)",
            ),
        ] {
            assert_eq!(resolve(name, known()).unwrap_err().to_string(), words);
        }
        assert_eq!(
            resolve("latest", Vec::new()).unwrap_err().to_string(),
            "find study latest: no study is stored yet; `stampede compare` makes one"
        );
        let many = (0..8).map(|i| StudyId::new(format!("s{i}"))).collect();
        assert!(resolve("x", many).unwrap_err().to_string().contains("s4 and 3 more"));
    }
}
