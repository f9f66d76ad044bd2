//! How the processors' frequency is governed, where the kernel shows it.

use std::path::Path;

use stampede_core::Finding;

use super::{fine, text, warning};

pub(super) struct Frequency {
    /// What governs the first processor.
    governor: Option<String>,
    /// Whether it may run faster than its base for as long as it stays cool.
    turbo: Option<bool>,
}

/// Reads it below `/sys/devices/system/cpu`
/// ([CPU performance scaling](https://docs.kernel.org/admin-guide/pm/cpufreq.html)).
pub(super) fn read(folder: &Path) -> Frequency {
    let switch = |file: &str, on: &str| text(folder.join(file)).map(|value| value == on);
    Frequency {
        governor: text(folder.join("cpu0/cpufreq/scaling_governor")),
        turbo: switch("intel_pstate/no_turbo", "0").or_else(|| switch("cpufreq/boost", "1")),
    }
}

pub(super) fn judge(frequency: &Frequency) -> Finding {
    const ID: &str = "frequency";
    let Frequency { governor, turbo } = frequency;
    let turbo_word = match turbo {
        Some(true) => ", turbo on",
        Some(false) => ", turbo off",
        None => "",
    };
    match governor.as_deref() {
        None if turbo.is_none() => fine(
            ID,
            "the processors' frequency is not visible, as in most virtual machines; the reference server of each study shows its drift",
        ),
        Some(governor) if governor != "performance" => warning(
            ID,
            format!("the processors' frequency is governed by {governor}{turbo_word}"),
            "cpupower frequency-set -g performance",
        ),
        governor if *turbo == Some(true) => warning(
            ID,
            format!(
                "governor {}, turbo on: the pace depends on heat and on what other cores do",
                governor.unwrap_or("unknown")
            ),
            "switch turbo off for small differences: echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
             /sys/devices/system/cpu/cpufreq/boost",
        ),
        governor => fine(ID, format!("governor {}{turbo_word}", governor.unwrap_or("unknown"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use stampede_core::Severity;

    use super::*;

    #[test]
    fn a_frequency_that_moves_is_told_where_it_is_visible() {
        for (name, files, expected, words) in [
            ("a virtual machine", &[][..], Severity::Info, "not visible"),
            ("saves power", &[("cpu0/cpufreq/scaling_governor", "powersave\n")], Severity::Warning, "powersave"),
            (
                "fixed",
                &[("cpu0/cpufreq/scaling_governor", "performance\n"), ("intel_pstate/no_turbo", "1\n")],
                Severity::Info,
                "turbo off",
            ),
            (
                "boosts",
                &[("cpu0/cpufreq/scaling_governor", "performance\n"), ("cpufreq/boost", "1\n")],
                Severity::Warning,
                "turbo on",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = folder.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let found = judge(&read(folder.path()));
            assert_eq!(found.severity, expected, "{name}: {found:?}");
            assert!(found.text.contains(words), "{name}: {found:?}");
        }
    }
}
