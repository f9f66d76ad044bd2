//! A deployment that is made up.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stampede_core::{Answer, Counters, Endpoint, Gauge, Memory, PhpProbeSource, PhpReadBack, Series, SeriesSource};
use stampede_seam::{Call, Moment};

use crate::fake_lifetime::FakeLifetime;

/// A deployment that was launched, and when.
#[derive(Debug)]
pub(crate) struct FakeDeployment {
    pub(crate) lifetime: FakeLifetime,
    pub(crate) launched: Moment,
    /// The folder that its counters are said to be read from.
    pub(crate) group: PathBuf,
    /// When load was driven.
    pub(crate) loaded: Mutex<Vec<Range<Moment>>>,
    /// Where settings of PHP are asked for, where that has an address of its own.
    pub(crate) probe: Endpoint,
    /// Who tells the settings of PHP that are in force, and what.
    pub(crate) php: Option<(PhpProbeSource, PhpReadBack)>,
}

impl FakeDeployment {
    /// The moment that is so long after its launch.
    pub(crate) fn at(&self, after: Duration) -> Moment {
        self.launched + after
    }

    pub(crate) fn has_ended(&self, now: Moment) -> bool {
        self.lifetime.exit.as_ref().is_some_and(|(after, _)| now >= self.at(*after))
    }

    pub(crate) fn is_ready(&self, now: Moment) -> bool {
        now >= self.at(self.lifetime.ready) && !self.has_ended(now)
    }

    pub(crate) fn answer(&self, call: &Call) -> Answer {
        let is_asked_for_php = match &self.php {
            Some((PhpProbeSource::Page { path, .. }, _)) => call.endpoint == self.probe && call.request.path == *path,
            Some((PhpProbeSource::File(_), _)) | None => false,
        };
        match &self.php {
            Some((_, told)) if is_asked_for_php => {
                let body = serde_json::to_vec(told).unwrap_or_default();
                Answer { status: 200, headers: Vec::new(), body }
            }
            _ => (self.lifetime.answer)(&call.request),
        }
    }

    /// Its anonymous memory, in bytes.
    fn anonymous(&self, now: Moment) -> u64 {
        let age = now.since(self.at(Duration::ZERO));
        let grown =
            self.lifetime.memory_growth.map_or(0, |(each, until)| (age.min(until).as_secs_f64() * each as f64) as u64);
        (32 << 20) + grown
    }

    /// What is sampled of its memory in a window, ten times a second.
    pub(crate) fn sampled(&self, window: &Range<Moment>) -> Series {
        let mut series = Series::new(SeriesSource::Group);
        let ticks = (window.end.since(window.start).as_millis() / 100) as u32;
        for tick in 0..=ticks {
            let at = Duration::from_millis(100) * tick;
            let anonymous = self.anonymous(window.start + at);
            series.push(at, &[(Gauge::AnonymousBytes, anonymous), (Gauge::SharedBytes, 0), (Gauge::KernelBytes, 0)]);
        }
        series
    }

    pub(crate) fn counters(&self, now: Moment) -> Counters {
        let FakeLifetime { cpus, oom_kills, major_faults, .. } = &self.lifetime;
        let until_now = |happened: &[Duration]| happened.iter().filter(|after| now >= self.at(**after)).count() as u64;
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let busy: Duration = loaded.iter().map(|load| now.min(load.end).since(load.start)).sum();
        Counters {
            cpu: busy.mul_f64(*cpus),
            memory: Memory { anonymous: self.anonymous(now), ..Memory::default() },
            oom_kills: until_now(oom_kills),
            major_faults: until_now(major_faults),
            ..Counters::default()
        }
    }
}
