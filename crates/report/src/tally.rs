//! What happened how often, in words.

use std::fmt::Display;

use stampede_core::ErrorClass;

/// How often each thing happened: `7 x refused, 3 x timed out`.
pub fn counted<K: Display, C: Display>(items: impl Iterator<Item = (K, C)>) -> String {
    let items: Vec<_> = items.map(|(name, count)| format!("{count} x {name}")).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// Why a request failed.
pub fn words(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Refused => "refused",
        ErrorClass::Tls => "not encrypted",
        ErrorClass::Reset => "reset",
        ErrorClass::ClosedEarly => "closed early",
        ErrorClass::Malformed => "not HTTP",
        ErrorClass::WrongStatus => "wrong status",
        ErrorClass::WrongHeader => "wrong header",
        ErrorClass::WrongBody => "wrong body",
        ErrorClass::Unwritable => "not writable",
        ErrorClass::Exhausted => "no port or file left",
        ErrorClass::TimedOut => "timed out",
        ErrorClass::Io => "other network error",
    }
}
