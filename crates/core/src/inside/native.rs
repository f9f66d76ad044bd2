//! Where in machine code PHP's threads ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Samples of the machine code that PHP's threads ran, each standing for the same time on a processor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsideNative {
    /// Each function once, those seen most often first; no function where nothing could be sampled.
    pub code: Vec<InsideCode>,
    /// Whether the kernel's own code could not be seen: shares are of the time outside it then.
    pub without_kernel: bool,
}

/// A function of machine code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsideCode {
    /// The name of the program or library, without its folder; [`KERNEL`](Self::KERNEL) or [`GENERATED`](Self::GENERATED).
    pub file: String,
    /// The function; `a .. b` where its name is unknown and it stands between those two; none where nothing is known.
    pub symbol: Option<String>,
    /// In how many samples it was seen.
    pub samples: u64,
}

impl InsideCode {
    /// The kernel.
    pub const KERNEL: &str = "kernel";
    /// Code that is in no file: what the JIT of PHP or of PCRE compiled.
    pub const GENERATED: &str = "generated code";
}

impl InsideNative {
    /// Most functions that are kept.
    const MOST: usize = 300;

    /// Continues with what was seen later.
    pub(super) fn go_on(&mut self, later: &Self) {
        self.code.extend(later.code.iter().cloned());
        self.without_kernel |= later.without_kernel;
        self.settle();
    }

    /// Puts what is the same together, the most frequent first; of the rarest only the files are kept.
    pub fn settle(&mut self) {
        self.unite();
        self.code.iter_mut().skip(Self::MOST).for_each(|code| code.symbol = None);
        self.unite();
    }

    fn unite(&mut self) {
        let mut samples: BTreeMap<(String, Option<String>), u64> = BTreeMap::new();
        for InsideCode { file, symbol, samples: count } in self.code.drain(..) {
            *samples.entry((file, symbol)).or_default() += count;
        }
        self.code = samples.into_iter().map(|((file, symbol), samples)| InsideCode { file, symbol, samples }).collect();
        self.code.sort_by_key(|code| std::cmp::Reverse(code.samples));
    }

    /// How many samples there are.
    pub fn samples(&self) -> u64 {
        self.code.iter().map(|code| code.samples).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_both_windows_are_put_together_and_the_rarest_keep_their_file() {
        let code =
            |file: &str, symbol: String, samples| InsideCode { file: file.to_owned(), symbol: Some(symbol), samples };
        let all = |samples: fn(u64) -> u64| InsideNative {
            code: (0..400).map(|number| code("php", format!("f{number}"), samples(number))).collect(),
            without_kernel: false,
        };
        let mut first = all(|number| 1_000 - number);
        first.go_on(&all(|_| 1));
        assert_eq!(first.code.len(), InsideNative::MOST + 1);
        assert_eq!(first.samples(), (0..400).map(|number| 1_001 - number).sum::<u64>());
        assert_eq!(
            first.code[0],
            InsideCode { symbol: None, ..code("php", String::new(), (601..=700).map(|n| n + 1).sum::<u64>()) }
        );
        assert_eq!(first.code[1], code("php", "f0".to_owned(), 1_001));
    }
}
