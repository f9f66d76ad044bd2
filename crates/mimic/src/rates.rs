//! The rates that threads have in tenths of a second: wrk's `Req/Sec`.

use std::time::Duration;

/// How often wrk looks (`RECORD_INTERVAL_MS`).
const INTERVAL: Duration = Duration::from_millis(100);

/// What each thread has done, looked at again and again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// How many requests each thread had ended when it last had ended more, and when that was.
    seen: Vec<(u64, Duration)>,
    /// Requests a second of one thread between two looks.
    rates: Vec<u64>,
}

impl Rates {
    /// How often to look.
    pub fn interval() -> Duration {
        INTERVAL
    }

    /// Takes what each thread has ended so far, this long after the start. As wrk has it, a thread that has done nothing since the
    /// last look is asked again at the next.
    pub fn look(&mut self, after: Duration, ended: &[u64]) {
        self.seen.resize(ended.len(), (0, Duration::ZERO));
        for ((before, since), now) in self.seen.iter_mut().zip(ended) {
            let (count, time) = (now.saturating_sub(*before), after.saturating_sub(*since));
            if count > 0 && !time.is_zero() {
                self.rates.push((count as f64 / time.as_secs_f64()) as u64);
                (*before, *since) = (*now, after);
            }
        }
    }

    /// Each rate.
    pub fn all(&self) -> &[u64] {
        &self.rates
    }

    /// Mean, standard deviation of a sample, largest, and the share within one deviation of the mean; `None` of none.
    pub(crate) fn figures(&self) -> Option<[f64; 4]> {
        let count = self.rates.len() as f64;
        let max = *self.rates.iter().max()? as f64;
        let mean = self.rates.iter().sum::<u64>() as f64 / count;
        let squares = self.rates.iter().map(|rate| (*rate as f64 - mean) * (*rate as f64 - mean));
        let stdev = (squares.sum::<f64>() / (count - 1.0).max(1.0)).sqrt();
        let within = self.rates.iter().filter(|rate| (**rate as f64 - mean).abs() <= stdev).count() as f64;
        Some([mean, stdev, max, within / count])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_rate() {
        let mut rates = Rates::default();
        assert_eq!(rates.figures(), None);
        let ms = Duration::from_millis;
        rates.look(ms(0), &[0, 0]);
        rates.look(ms(100), &[10, 0]);
        rates.look(ms(200), &[40, 60]);
        rates.look(ms(300), &[40, 60]);
        rates.look(ms(400), &[60, 60]);
        assert_eq!(rates.all(), [100, 300, 300, 100]);
        // R: x <- c(100, 300, 300, 100); mean(x); sd(x)
        let [mean, stdev, max, within] = rates.figures().unwrap();
        assert!((mean - 200.0).abs() < 1e-9 && (stdev - 115.470054).abs() < 1e-6, "{mean} {stdev}");
        assert!((max - 300.0).abs() < 1e-9 && (within - 1.0).abs() < 1e-9, "{max} {within}");
    }
}
