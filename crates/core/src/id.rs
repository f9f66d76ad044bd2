//! Names. Each kind of name is a type of its own, so that a case's name cannot be passed for a runtime's.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps a name; no check is made.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

name! {
    /// What serves PHP: `nginx-fpm`, `apache-mod-php`.
    RuntimeId
}
name! {
    /// An application with its requests: `markdown`.
    WorkloadId
}
name! {
    /// One line of a comparison; unique within its study.
    CaseId
}
name! {
    /// A stored study.
    StudyId
}
name! {
    /// One process (with its children) of a deployment: `nginx`, `php-fpm`.
    UnitId
}
name! {
    /// A symbolic address of a deployment, bound to a real one by the platform.
    AddressId
}
