//! How much CPU and memory a whole deployment may use.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A bound that may be absent. "Unlimited" is a variant, never a special number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit<T> {
    /// No bound is in force.
    Unlimited,
    /// At most this much.
    AtMost(T),
}

/// CPU capacity in thousandths of a core, the resolution of Kubernetes' CPU quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cpus(u32);

impl Cpus {
    /// From thousandths of a core.
    pub const fn from_millis(millis: u32) -> Self {
        Self(millis)
    }

    /// In thousandths of a core.
    pub const fn millis(self) -> u32 {
        self.0
    }

    /// In cores.
    pub fn cores(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// The least number of whole cores on which this much can run at once; at least 1.
    pub fn whole_cores(self) -> usize {
        (self.0.div_ceil(1000)).max(1) as usize
    }

    /// The CPU time that this capacity grants in each quota period.
    pub fn quota(self, period: Duration) -> Duration {
        period * self.0 / 1000
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.cores().to_string())
    }
}

/// An amount of memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// From bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// From mebibytes (2^20 bytes).
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib << 20)
    }

    /// In bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// In mebibytes (2^20 bytes).
    pub fn mib(self) -> f64 {
        self.0 as f64 / f64::from(1 << 20)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
        let text = UNITS
            .iter()
            .find(|(size, _)| self.0 >= *size && self.0.is_multiple_of(*size))
            .map_or_else(|| self.0.to_string(), |(size, unit)| format!("{}{unit}", self.0 / size));
        f.pad(&text)
    }
}

/// Why a quantity could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseQuantityError {
    /// Not a number with a known unit.
    #[error("is not {expected}")]
    Malformed {
        /// What would have been understood, with an example.
        expected: &'static str,
    },
    /// A quantity of nothing.
    #[error("must be more than 0")]
    Zero,
}

impl FromStr for Cpus {
    type Err = ParseQuantityError;

    /// Reads cores (`0.5`) or thousandths (`500m`), up to three decimals.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed =
            ParseQuantityError::Malformed { expected: "a number of CPUs such as 0.5, 2 or 500m (thousandths)" };
        let millis = match text.strip_suffix('m') {
            Some(millis) => millis.parse::<f64>(),
            None => text.parse::<f64>().map(|cores| cores * 1000.0),
        };
        match millis {
            Ok(0.0) => Err(ParseQuantityError::Zero),
            Ok(millis)
                if millis.is_finite()
                    && (0.5..f64::from(u32::MAX)).contains(&millis)
                    && (millis - millis.round()).abs() < 1e-6 =>
            {
                Ok(Self(millis.round() as u32))
            }
            _ => Err(malformed),
        }
    }
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    /// Reads bytes with an optional unit: `Ki Mi Gi` are powers of 1024, `K M G` powers of 1000 (as Kubernetes reads
    /// them).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const UNITS: [(&str, u64); 6] =
            [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("K", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
        let malformed = || ParseQuantityError::Malformed { expected: "an amount of memory such as 256Mi or 1Gi" };
        let (number, unit) = UNITS
            .iter()
            .find_map(|(unit, size)| text.strip_suffix(unit).map(|number| (number, *size)))
            .unwrap_or((text, 1));
        let bytes = number.parse::<f64>().map_err(|_| malformed())? * unit as f64;
        if bytes == 0.0 {
            return Err(ParseQuantityError::Zero);
        }
        if !(1.0..u64::MAX as f64).contains(&bytes) {
            return Err(malformed());
        }
        Ok(Self(bytes.round() as u64))
    }
}

/// What a whole deployment may use: all its units share one budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// CPU time per wall time.
    pub cpus: Cpus,
    /// Memory, without swap.
    pub memory: Bytes,
}

/// The limits that the kernel says are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnforcedLimits {
    /// CPU quota over period.
    pub cpus: Limit<Cpus>,
    /// The CPU quota's period: a throttled process stalls to its end.
    pub period: Duration,
    /// Memory without swap.
    pub memory: Limit<Bytes>,
}

impl EnforcedLimits {
    /// Whether the kernel holds exactly what was asked for. The kernel rounds memory to pages, so up to 64 KiB (the
    /// largest page size in use) may be missing.
    pub fn fulfil(&self, asked: &Limits) -> bool {
        let memory = match self.memory {
            Limit::AtMost(bytes) => bytes <= asked.memory && asked.memory.get() - bytes.get() < 64 << 10,
            Limit::Unlimited => false,
        };
        self.cpus == Limit::AtMost(asked.cpus) && memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_read_as_cores_or_thousandths() {
        for (text, millis) in [("0.5", 500), ("2", 2000), ("0.167", 167), ("500m", 500), ("1.0", 1000)] {
            assert_eq!(text.parse::<Cpus>().map(Cpus::millis), Ok(millis), "{text}");
        }
        assert_eq!("0".parse::<Cpus>(), Err(ParseQuantityError::Zero));
        for text in ["", "-1", "half", "0.0001", "NaN", "inf", "1e99"] {
            assert!(matches!(text.parse::<Cpus>(), Err(ParseQuantityError::Malformed { .. })), "{text}");
        }
    }

    #[test]
    fn memory_is_read_with_binary_and_decimal_units_and_printed_with_the_largest_that_fits() {
        for (text, bytes, printed) in [
            ("256Mi", 268_435_456, "256Mi"),
            ("1Gi", 1 << 30, "1Gi"),
            ("1M", 1_000_000, "1000000"),
            ("1536Mi", 1536 << 20, "1536Mi"),
        ] {
            let read: Bytes = text.parse().unwrap();
            assert_eq!((read.get(), read.to_string().as_str()), (bytes, printed), "{text}");
        }
        for text in ["", "Mi", "-1Mi", "12Zi", "1e30Gi"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_quota_is_the_share_of_its_period() {
        assert_eq!(Cpus::from_millis(167).quota(Duration::from_millis(100)), Duration::from_micros(16_700));
        assert_eq!((Cpus::from_millis(500).whole_cores(), Cpus::from_millis(1001).whole_cores()), (1, 2));
    }
}
