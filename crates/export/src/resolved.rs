//! An order with its places put in.

use stampede_core::{AddressId, AddressKind, Places, Program};

use crate::export_error::ExportError;
use crate::order::BundleOrder;
use crate::place::{SOCKETS, socket};

/// An order with its places put in.
pub(crate) struct Resolved<'a> {
    pub(crate) order: &'a BundleOrder<'a>,
    /// The folder that holds everything in the end.
    pub(crate) root: String,
    pub(crate) places: Places,
}

impl Resolved<'_> {
    pub(crate) fn text(&self, text: &str, what: &str) -> Result<String, ExportError> {
        self.places.resolve(text).map_err(|source| ExportError::Place { what: what.to_owned(), source })
    }

    /// A program with its places put in.
    pub(crate) fn program(&self, program: &Program, what: &str) -> Result<Program, ExportError> {
        let Program { path, args, env } = program;
        let text = |text: &String| self.text(text, what);
        Ok(Program {
            path: text(path)?,
            args: args.iter().map(text).collect::<Result<_, _>>()?,
            env: env
                .iter()
                .map(|(name, value)| Ok((name.clone(), text(value)?)))
                .collect::<Result<_, ExportError>>()?,
        })
    }

    /// The lines of a comment that every file of our own begins with.
    pub(crate) fn comment(&self) -> String {
        self.order.origin.iter().map(|line| format!("# {line}\n")).collect()
    }

    /// The unix sockets.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = (&AddressId, String)> {
        let addresses = self.order.deployment.addresses.iter();
        let of_kind = addresses.filter(|address| address.kind == AddressKind::UnixSocket);
        of_kind.map(|address| (&address.id, socket(&self.root, address.id.as_str())))
    }

    /// Folders that servers write to, relative to the root; the application's own copy is one by itself.
    pub(crate) fn writable(&self) -> Vec<String> {
        let deployment = self.order.deployment;
        let prepared = deployment.preparation.iter().flat_map(|preparation| &preparation.folders);
        let mut all = vec![SOCKETS.to_owned()];
        let folders = deployment.units.iter().flat_map(|unit| &unit.folders).chain(prepared);
        all.extend(folders.map(|folder| folder.display().to_string()));
        all
    }
}
