//! How the PHP that serves is asked which settings are in force, without a part in what is measured: a web server has an
//! address or a file for it beside the application, a worker writes the answer into a file when it starts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use minijinja::context;
use stampede_core::{
    Address, AddressId, AddressKind, App, Limits, PhpBuild, PhpProbe, PhpProbeSource, PlanError, Preparation, RunFile,
};

use crate::lookup::Lookup;
use crate::template::{Template, template};
use crate::{bridge, php_ini};

const PROBE: &str = include_str!("../templates/php/probe.php");

const SETTINGS: Template = template!("php/settings.php.j2");

/// The script that writes them into a file.
const SAVE: &str = "@{run}/php/save.php";

/// The file.
const SAVED: &str = "@{run}/php/probe.json";

/// The address of a web server's second site, which answers with the settings.
pub(crate) fn address() -> Address {
    Address { id: id(), kind: AddressKind::Tcp }
}

fn id() -> AddressId {
    AddressId::new("probe")
}

/// The probe of a web server with such an address.
pub(crate) fn at_address(app: &App, build: &PhpBuild, limits: &Limits) -> Result<PhpProbe, PlanError> {
    at_page(app, build, limits, id(), "/")
}

/// The probe of a web server with a page for it on another address that takes no load.
pub(crate) fn at_page(
    app: &App,
    build: &PhpBuild,
    limits: &Limits,
    address: AddressId,
    path: &str,
) -> Result<PhpProbe, PlanError> {
    probe(app, build, limits, PhpProbeSource::Page { address, path: path.to_owned() })
}

/// The probe of processes that write the settings when they start.
pub(crate) fn saved(app: &App, build: &PhpBuild, limits: &Limits) -> Result<PhpProbe, PlanError> {
    probe(app, build, limits, PhpProbeSource::File(SAVED.to_owned()))
}

fn probe(app: &App, build: &PhpBuild, limits: &Limits, source: PhpProbeSource) -> Result<PhpProbe, PlanError> {
    let asked = php_ini::asked(app, build, limits);
    let owners = build.setup.iter().flat_map(|setup| setup.settings.keys());
    let names: BTreeSet<String> = asked.settings.keys().chain(owners).cloned().collect();
    let settings = SETTINGS.fill(context! { names => names.into_iter().collect::<Vec<_>>() })?;
    let file = |name: &str, text: &str| RunFile { path: PathBuf::from("php").join(name), text: text.to_owned() };
    let files = vec![
        file("settings.php", &settings),
        file("probe.php", PROBE),
        file("save.php", include_str!("../templates/php/save.php")),
    ];
    Ok(PhpProbe { files, asked, source })
}

/// What is done before the start of a server that can be asked in no other way: its PHP as a command line program writes
/// the same settings, in a process of its own.
pub(crate) fn saved_before(
    app: &App,
    lookup: &Lookup<'_>,
    preparation: Option<Preparation>,
) -> Result<Option<Preparation>, PlanError> {
    let mut preparation = preparation.unwrap_or_default();
    preparation.programs.push(bridge::php_program(lookup, app, SAVE)?);
    Ok(Some(preparation))
}
