//! Every request of a load, written to a file while it runs, or kept in memory.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use stampede_conduct::Failure;
use stampede_load::SampleReader;
use stampede_report::load::{SampleCount, SampleFormat, SampleLines};
use stampede_seam::RequestSample;

/// How often requests are fetched; the load keeps those of a longer time.
const PAUSE: Duration = Duration::from_millis(20);

/// What is written at once.
const PIECE: usize = 256 << 10;

/// Where requests go.
#[derive(Debug)]
pub enum SampleSink {
    /// To a file.
    File {
        /// Its path.
        path: PathBuf,
        /// The file itself.
        file: File,
        /// What lines are like.
        format: SampleFormat,
    },
    /// To memory, so many at most.
    Memory {
        /// How many.
        most: usize,
    },
}

/// What has become of them.
#[derive(Debug, Default)]
pub struct Sampled {
    /// How many were written, and how many were not.
    pub count: SampleCount,
    /// Those that were kept in memory.
    pub kept: Vec<RequestSample>,
    /// Why the file holds no more.
    pub failure: Option<String>,
}

impl SampleSink {
    /// Empties the file.
    ///
    /// # Errors
    ///
    /// When it is of no format that is known, or cannot be written.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let place = || format!("--samples {}", path.display());
        let Some(format) = SampleFormat::of(path) else {
            let problem = "is no .csv, .tsv or .ndjson file; for example --samples requests.csv";
            return Err(Failure::usage(format!("{} {problem}", place())));
        };
        if path == Path::new("-") {
            return Err(Failure::usage(format!("{} cannot go to stdout; give it a file", place())));
        }
        match File::create(path) {
            Ok(file) => Ok(Self::File { path: path.to_owned(), file, format }),
            Err(error) => Err(Failure::usage(format!("{} cannot be written: {error}", place()))),
        }
    }

    /// Takes the requests of a load whose steps have these names, on a thread of its own until the load is over.
    ///
    /// # Errors
    ///
    /// When there is no thread for that.
    pub(crate) fn follow(self, reader: SampleReader, steps: &[String]) -> Result<JoinHandle<Sampled>, Failure> {
        let steps = steps.to_vec();
        let thread = thread::Builder::new().name("samples".to_owned());
        let started = thread.spawn(move || match self {
            Self::File { path, file, format } => write(&path, file, &SampleLines::new(format, &steps), reader),
            Self::Memory { most } => keep(most, reader),
        });
        started.map_err(|error| Failure::missing(format!("cannot start a thread for samples: {error}")))
    }
}

fn write(path: &Path, mut file: File, lines: &SampleLines, mut reader: SampleReader) -> Sampled {
    let mut text = lines.head().into_bytes();
    let mut count = SampleCount::default();
    // Requests whose lines are in `text`.
    let mut waiting = 0;
    let mut failure: Option<io::Error> = None;
    let mut put = |text: &mut Vec<u8>, waiting: &mut u64, count: &mut SampleCount| {
        if failure.is_none() {
            failure = file.write_all(text).err();
        }
        match failure {
            None => count.written += *waiting,
            Some(_) => count.lost += *waiting,
        }
        *waiting = 0;
        text.clear();
    };
    loop {
        let goes_on = reader.read(|batch| {
            for sample in batch {
                lines.append(sample, &mut text);
                waiting += 1;
            }
            if text.len() >= PIECE {
                put(&mut text, &mut waiting, &mut count);
            }
        });
        put(&mut text, &mut waiting, &mut count);
        if !goes_on {
            break;
        }
        thread::sleep(PAUSE);
    }
    count.lost += reader.lost();
    let failure = failure.map(|error| {
        format!("cannot write all requests to {}: {error}; {} of them are not there", path.display(), count.lost)
    });
    Sampled { count, kept: Vec::new(), failure }
}

fn keep(most: usize, mut reader: SampleReader) -> Sampled {
    let mut kept = Vec::new();
    let mut count = SampleCount::default();
    let mut take = |batch: &[RequestSample]| {
        let room = batch.len().min(most - kept.len());
        kept.extend_from_slice(batch.get(..room).unwrap_or_default());
        count.lost += (batch.len() - room) as u64;
    };
    while reader.read(&mut take) {
        thread::sleep(PAUSE);
    }
    count.written = kept.len() as u64;
    count.lost += reader.lost();
    Sampled { count, kept, failure: None }
}
