//! What a workload needs beside its application.

use crate::ServiceKind;

/// A service that a workload is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceNeed {
    /// Which.
    pub kind: ServiceKind,
    /// Whether it is there always, or only where it is asked for.
    pub always: bool,
    /// The oldest version that will do, as its parts: `[14]`, `[10, 6]`. Empty for any.
    pub at_least: Vec<u32>,
    /// What it holds when an application is started.
    pub init: Option<InitScript>,
    /// PHP extensions that its applications need to reach it.
    pub extensions: Vec<String>,
}

/// SQL that a service is made with. Each trial begins with what it made, whatever the one before has done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitScript {
    /// The file's name, by which the service's client tells mistakes in it.
    pub name: String,
    /// Its text.
    pub sql: String,
    /// What of the file was changed so that the service takes it: `owners left out (3)`.
    pub changes: Vec<String>,
}

impl ServiceNeed {
    /// Whether a version such as `15.14 (Debian 15.14-0+deb12u1)` is new enough. One without a number is.
    pub fn is_met_by(&self, version: &str) -> bool {
        let parts = version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
        let found: Vec<u32> = parts.split('.').map_while(|part| part.parse().ok()).collect();
        found.is_empty() || found >= self.at_least
    }

    /// The oldest version that will do, as it is written.
    pub fn oldest(&self) -> String {
        self.at_least.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (at_least, version, met) in [
            (&[][..], "9.6", true),
            (&[14], "15.14 (Debian 15.14-0+deb12u1)", true),
            (&[14], "14", true),
            (&[14], "9.6.24", false),
            (&[10, 6], "10.11.14-MariaDB", true),
            (&[10, 6], "10.5.9", false),
            (&[14], "unknown", true),
        ] {
            let need = ServiceNeed {
                kind: ServiceKind::Postgres,
                always: true,
                at_least: at_least.to_vec(),
                init: None,
                extensions: Vec::new(),
            };
            assert_eq!(need.is_met_by(version), met, "{version} {at_least:?}");
        }
    }
}
