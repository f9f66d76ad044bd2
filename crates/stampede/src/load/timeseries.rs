//! The seconds of a load as lines of JSON, `stampede/load-second/v1`, written while it runs.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use stampede_load::Slice;
use stampede_report::load::second;

use crate::destination;
use crate::exit::Failure;

/// Where the lines go.
pub(crate) struct Timeseries(Box<dyn Write>);

impl Timeseries {
    /// Empties the file, or takes stdout for `-`.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        if destination::is_stdout(path) {
            return Ok(Self(Box::new(io::stdout())));
        }
        let file = File::create(path)
            .map_err(|error| Failure::usage(format!("--timeseries {} cannot be written: {error}", path.display())))?;
        Ok(Self(Box::new(file)))
    }

    /// Writes a line for each; whoever reads the file while load runs sees whole lines.
    pub(crate) fn write(&mut self, slices: &[Slice]) -> Result<(), Failure> {
        for slice in slices {
            self.0
                .write_all(second(slice).as_bytes())
                .and_then(|()| self.0.flush())
                .map_err(|error| Failure::missing(format!("cannot write the time series: {error}")))?;
        }
        Ok(())
    }
}
