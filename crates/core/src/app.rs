//! An application under test, as its author sees it: it says what kind it is and never which runtime serves it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Requirement;

/// What kind of program an application is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppKind {
    /// A PHP script that answers every request and keeps no state between two.
    FrontController {
        /// The script, relative to the application's folder.
        index: PathBuf,
    },
    /// A Go program that listens on the address in the environment variable `LISTEN` (`127.0.0.1:8080`).
    GoProgram,
}

/// An application: its kind, its source and what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// What kind of program it is.
    pub kind: AppKind,
    /// Its folder. It is copied into each run and never served from here.
    pub source: PathBuf,
    /// PHP extensions that it needs, lower case.
    pub extensions: Vec<String>,
    /// Environment variables that it is given.
    pub env: BTreeMap<String, String>,
    /// Libraries and files that it needs.
    pub needs: Vec<Requirement>,
}
