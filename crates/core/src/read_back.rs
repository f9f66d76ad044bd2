//! Whether a setting that was read back means what was asked for.

/// Powers of 1024, as PostgreSQL (`64MB`) and MariaDB (`64M`) write amounts of memory, in bytes.
const MEMORY: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1 << 10),
    ("K", 1 << 10),
    ("MB", 1 << 20),
    ("M", 1 << 20),
    ("GB", 1 << 30),
    ("G", 1 << 30),
    ("TB", 1 << 40),
    ("T", 1 << 40),
];

/// Lengths of time as PostgreSQL writes them, in microseconds.
/// <https://www.postgresql.org/docs/current/config-setting.html#CONFIG-SETTING-NAMES-VALUES>
const TIME: [(&str, u64); 6] =
    [("us", 1), ("ms", 1_000), ("s", 1_000_000), ("min", 60_000_000), ("h", 3_600_000_000), ("d", 86_400_000_000)];

/// Whether a value that a service told, in its unit (`8kB`, `ms`, or none), is what was asked for.
pub fn same_setting(asked: &str, told: &str, unit: &str) -> bool {
    let (asked, told) = (asked.trim(), told.trim());
    if asked.eq_ignore_ascii_case(told) {
        return true;
    }
    if let (Some(asked), Some(told)) = (switch(asked), switch(told)) {
        return asked == told;
    }
    match (amount(asked, unit), amount(told, unit)) {
        (Some(asked), Some(told)) => (asked - told).abs() <= told.abs() * 1e-9,
        _ => false,
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// A number in the smallest unit of its kind; one without a unit is in the setting's own.
fn amount(text: &str, unit: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let written = text[end..].trim();
    if written.is_empty() && !unit.is_empty() {
        // Such as 8kB: a setting that counts blocks.
        let digits = unit.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        let times: f64 = if digits == 0 { 1.0 } else { unit[..digits].parse().ok()? };
        return Some(number * times * size(&unit[digits..])?);
    }
    if written.is_empty() { Some(number) } else { Some(number * size(written)?) }
}

fn size(unit: &str) -> Option<f64> {
    MEMORY.iter().chain(&TIME).find(|(name, _)| *name == unit).map(|(_, size)| *size as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_compared_by_meaning() {
        for (asked, told, unit, same) in [
            ("50", "50", "", true),
            ("50", "100", "", false),
            ("64MB", "8192", "8kB", true),
            ("8192", "8192", "8kB", true),
            ("64MB", "8193", "8kB", false),
            ("1GB", "1048576", "kB", true),
            ("64M", "67108864", "", true),
            ("10s", "10000", "ms", true),
            ("1min", "60", "s", true),
            ("1min", "61", "s", false),
            ("off", "off", "", true),
            ("off", "0", "", true),
            ("true", "on", "", true),
            ("on", "off", "", false),
            ("-1", "-1", "min", true),
            ("replica", "replica", "", true),
            ("minimal", "replica", "", false),
            ("transaction", "Transaction", "", true),
            ("O_DIRECT", "fsync", "", false),
        ] {
            assert_eq!(same_setting(asked, told, unit), same, "{asked} and {told} {unit}");
        }
    }
}
