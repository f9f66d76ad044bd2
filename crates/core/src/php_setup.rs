//! How a build of PHP is set up for an application: as its owner has it, or with no more than is needed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::php_extension;

/// Where PHP's extensions or settings come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PhpOrigin {
    /// What the application and its server need, on top of the bench's own.
    #[default]
    Minimal,
    /// What the owner of the build has enabled for this server interface, and what is needed beside.
    Owner,
}

/// What is taken of the owner's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpBase {
    /// Whose extensions.
    pub extensions: PhpOrigin,
    /// Whose settings.
    pub ini: PhpOrigin,
}

impl PhpBase {
    /// All as the owner has it.
    pub const OWNER: Self = Self { extensions: PhpOrigin::Owner, ini: PhpOrigin::Owner };
}

/// What a build of PHP must be able to load, and how it is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpWants {
    /// Extensions that it must have built in or be able to load, lower case.
    pub extensions: Vec<String>,
    /// Extensions that are loaded where it has them; another requirement says what is missing then.
    pub optional: Vec<String>,
    /// What is taken of its owner's configuration.
    pub base: PhpBase,
}

/// An extension as `php.ini` loads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpModule {
    /// Its name, lower case.
    pub name: String,
    /// What is written behind `extension =`: its name, its file or a path.
    pub file: String,
    /// Whether it is a `zend_extension`.
    pub is_zend: bool,
}

impl PhpModule {
    /// An extension that is loaded by its name.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), file: name.to_owned(), is_zend: php_extension::is_zend(name) }
    }
}

/// How a build of PHP is set up. What was loaded in the end, the process that serves tells
/// ([`PhpReadBack`](crate::PhpReadBack)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpSetup {
    /// Where the owner's configuration is; empty where nothing of it is taken.
    pub source: String,
    /// What is loaded beside the opcode cache, in this order.
    pub modules: Vec<PhpModule>,
    /// What the owner loads and is not loaded here, each with the reason.
    pub left_out: BTreeMap<String, String>,
    /// The owner's settings that are taken, as `php.ini` writes them: those that decide what answers are.
    pub settings: BTreeMap<String, String>,
    /// The owner's settings that are not taken: those that decide how fast PHP is, and what holds for one folder alone.
    pub not_taken: BTreeMap<String, String>,
}

impl PhpSetup {
    /// The same without values that nobody else should read: passwords, licences, and addresses that may hold them.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        const NAMES: [&str; 6] = ["_pw", "password", "passwd", "license", "secret", "token"];
        const VALUES: [&str; 3] = ["auth", "password=", "@"];
        for (name, value) in self.settings.iter_mut().chain(&mut self.not_taken) {
            let (name, lower) = (name.to_lowercase(), value.to_lowercase());
            let is_secret =
                NAMES.iter().any(|part| name.contains(part)) || VALUES.iter().any(|part| lower.contains(part));
            if is_secret && !value.is_empty() {
                "(hidden)".clone_into(value);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden() {
        for (name, value, shown) in [
            ("session.save_path", "\"tcp://cache:6379?auth=abc\"", "(hidden)"),
            ("session.save_path", "tcp://cache:6379", "tcp://cache:6379"),
            ("mysqli.default_pw", "abc", "(hidden)"),
            ("mysqli.default_pw", "", ""),
            ("memory_limit", "1G", "1G"),
        ] {
            let settings = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let setup = PhpSetup { settings, ..PhpSetup::default() }.without_secrets();
            assert_eq!(setup.settings[name], shown, "{name} {value}");
        }
    }
}
