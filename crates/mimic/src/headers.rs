//! The headers of a request, as options of a command line give them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::flags::Typed;

/// The headers of a request, told apart without regard to case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers(BTreeMap<String, String>);

impl Headers {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Sets a header in place of one that has this name.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Sets a header that is not there yet.
    pub(crate) fn set_default(&mut self, name: &str, value: &str) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<String> {
        let known = self.0.keys().find(|known| known.eq_ignore_ascii_case(name))?.clone();
        self.0.remove(&known)
    }

    /// Takes out a `Connection: close`, which is the engine's to say.
    pub(crate) fn take_close(&mut self) -> bool {
        let close = self.get("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        close && self.remove("Connection").is_some()
    }

    /// Takes out the value of the `Host` header, which the engine writes, and leaves the others.
    pub(crate) fn into_parts(mut self, typed: &mut Typed) -> (Option<String>, BTreeMap<String, String>) {
        for (name, value) in &self.0 {
            if value.contains(|c: char| c.is_control()) {
                typed.mistake(format!("{name} {value:?}"), "has characters that no header may have", "leave them out");
            }
        }
        (self.remove("Host"), self.0)
    }
}

/// Name and value of a header as typed, unless it cannot be sent, which is a mistake.
pub(crate) fn header<'a>(typed: &mut Typed<'a>, flag: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    let place = || format!("{flag} {text:?}");
    // A token of RFC 9110, section 5.6.2.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let header = text.split_once(':').map(|(name, value)| (name, value.trim()));
    match header {
        Some((name, value)) if !name.is_empty() && name.bytes().all(is_token) => {
            if ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
                typed.mistake(place(), "says how the body is carried, which the engine does", "leave it out");
                return None;
            }
            Some((name, value))
        }
        _ => {
            typed.mistake(place(), "is not a header", format!("for example {flag} 'Accept: text/html'"));
            None
        }
    }
}

/// The value of a header with user and password (RFC 7617), given as `user:password`.
pub(crate) fn basic(typed: &mut Typed, flag: &str, text: &str) -> String {
    if !text.contains(':') {
        typed.mistake(format!("{flag} {text}"), "holds no colon", format!("for example {flag} user:password"));
    }
    format!("Basic {}", STANDARD.encode(text))
}
