//! The seconds of a load as lines of JSON, `stampede/load-second/v1`, written while it runs.

use std::io::Write;

use stampede_conduct::Failure;
use stampede_load::Slice;
use stampede_report::load::second;

/// Where the lines go.
pub struct Timeseries(Box<dyn Write>);

impl Timeseries {
    /// Into a file or a stream.
    #[must_use]
    pub fn new(output: Box<dyn Write>) -> Self {
        Self(output)
    }

    /// Writes a line for each; whoever reads the file while load runs sees whole lines.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn write(&mut self, slices: &[Slice]) -> Result<(), Failure> {
        for slice in slices {
            self.0
                .write_all(second(slice).as_bytes())
                .and_then(|()| self.0.flush())
                .map_err(|error| Failure::missing(format!("cannot write the time series: {error}")))?;
        }
        Ok(())
    }
}
