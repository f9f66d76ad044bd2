//! A copy of a runtime's deployment: the same units with names, addresses and folders of their own. What is only read is
//! shared: the copy of the application, and what was built from it.

use std::path::{Path, PathBuf};

use stampede_core::{
    Address, AddressId, BuildStep, Deployment, PhpProbe, PhpProbeSource, Preparation, Program, Ready, Replacement,
    RunFile, StatusSource, Topology, Unit, UnitId,
};

/// The copy of the application in a run's folder, which all copies share.
const APP: &str = "app";

/// One of several copies.
pub(crate) struct Replica<'a> {
    one: &'a Deployment,
    number: u32,
    folder: PathBuf,
}

impl<'a> Replica<'a> {
    /// The copy of this number, from 1.
    pub(crate) fn new(one: &'a Deployment, number: u32) -> Self {
        Self { one, number, folder: PathBuf::from(Topology::replica_name(number)) }
    }

    /// The address at which it takes its requests.
    pub(crate) fn front(&self) -> AddressId {
        self.address(&self.one.front)
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = Address> {
        self.one.addresses.iter().map(|address| Address { id: self.address(&address.id), ..address.clone() })
    }

    pub(crate) fn units(&self) -> impl Iterator<Item = Unit> {
        self.one.units.iter().map(|unit| self.unit(unit))
    }

    fn unit(&self, unit: &Unit) -> Unit {
        Unit {
            id: UnitId::new(format!("{}-{}", unit.id, self.number)),
            build: unit.build.as_ref().map(|build| BuildStep { output: self.path(&build.output), ..build.clone() }),
            files: unit.files.iter().map(|file| self.file(file)).collect(),
            folders: unit.folders.iter().map(|folder| self.path(folder)).collect(),
            check: unit.check.as_ref().map(|check| self.program(check)),
            program: self.program(&unit.program),
            logs: unit.logs.iter().map(|log| self.path(log)).collect(),
            ready: match &unit.ready {
                Ready::Port(id) => Ready::Port(self.address(id)),
                // A balancer that is asked before it could reach a replica would answer 502 or 503.
                Ready::Request => Ready::Port(self.front()),
                Ready::Program(program) => Ready::Program(self.program(program)),
            },
            statuses: unit.statuses.iter().map(|status| self.status(status)).collect(),
            stop: unit.stop,
        }
    }

    /// The preparation of the application, which all copies share.
    pub(crate) fn preparation(&self) -> Option<Preparation> {
        self.one.preparation.as_ref().map(|Preparation { replacements, files, folders, programs }| Preparation {
            replacements: replacements
                .iter()
                .map(|replacement| Replacement { with: self.text(&replacement.with), ..replacement.clone() })
                .collect(),
            files: files.iter().map(|file| self.file(file)).collect(),
            folders: folders.iter().map(|folder| self.path(folder)).collect(),
            programs: programs.iter().map(|program| self.program(program)).collect(),
        })
    }

    /// The probe of this copy's PHP.
    pub(crate) fn probe(&self) -> Option<PhpProbe> {
        self.one.probe.as_ref().map(|PhpProbe { files, asked, source }| PhpProbe {
            files: files.iter().map(|file| self.file(file)).collect(),
            asked: asked.clone(),
            source: match source {
                PhpProbeSource::Page { address, path } => {
                    PhpProbeSource::Page { address: self.address(address), path: path.clone() }
                }
                PhpProbeSource::File(path) => PhpProbeSource::File(self.text(path)),
            },
        })
    }

    fn status(&self, status: &StatusSource) -> StatusSource {
        StatusSource { address: self.address(&status.address), ..status.clone() }
    }

    fn address(&self, id: &AddressId) -> AddressId {
        AddressId::new(format!("{id}-{}", self.number))
    }

    fn path(&self, path: &Path) -> PathBuf {
        if path.starts_with(APP) { path.to_owned() } else { self.folder.join(path) }
    }

    fn file(&self, RunFile { path, text }: &RunFile) -> RunFile {
        RunFile { path: self.path(path), text: self.text(text) }
    }

    fn program(&self, Program { path, args, env }: &Program) -> Program {
        Program {
            path: self.text(path),
            args: args.iter().map(|arg| self.text(arg)).collect(),
            env: env.iter().map(|(name, value)| (name.clone(), self.text(value))).collect(),
        }
    }

    /// A text that names this copy's places.
    fn text(&self, text: &str) -> String {
        let mut text = text.replace("@{run}", &format!("@{{run}}/{}", self.folder.display()));
        for Address { id, .. } in &self.one.addresses {
            let own = self.address(id);
            for end in ["}", "."] {
                text = text.replace(&format!("@{{{id}{end}"), &format!("@{{{own}{end}"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{AddressKind, GracefulStop, StopSignal};

    use super::*;

    #[test]
    fn a_copy_has_places_of_its_own_and_shares_the_application() {
        let address = |id: &str| Address { id: AddressId::new(id), kind: AddressKind::Tcp };
        let one = Deployment {
            addresses: vec![address("front"), address("fpm")],
            front: AddressId::new("front"),
            app: "app".into(),
            container: None,
            image: None,
            preparation: None,
            probe: None,
            units: vec![Unit {
                id: UnitId::new("nginx"),
                build: None,
                files: vec![RunFile {
                    path: "nginx/nginx.conf".into(),
                    text: "@{front} @{front.port} @{fpm} @{run}/x @{app} @{postgres}".into(),
                }],
                folders: vec!["nginx".into()],
                check: None,
                program: Program { path: "@{run}/go/program".into(), args: Vec::new(), env: [].into() },
                logs: Vec::new(),
                ready: Ready::Request,
                statuses: Vec::new(),
                stop: GracefulStop { signal: StopSignal::Term, grace: std::time::Duration::ZERO },
            }],
        };
        let copy = Replica::new(&one, 2);
        let [unit] = &copy.units().collect::<Vec<_>>()[..] else { panic!("one unit") };
        assert_eq!(unit.id.as_str(), "nginx-2");
        assert_eq!(unit.files[0].path, Path::new("replica-2/nginx/nginx.conf"));
        assert_eq!(unit.files[0].text, "@{front-2} @{front-2.port} @{fpm-2} @{run}/replica-2/x @{app} @{postgres}");
        assert_eq!(unit.program.path, "@{run}/replica-2/go/program");
        assert_eq!(unit.folders, [Path::new("replica-2/nginx")]);
        assert_eq!(unit.ready, Ready::Port(AddressId::new("front-2")));
        let ids: Vec<String> = copy.addresses().map(|address| address.id.to_string()).collect();
        assert_eq!(ids, ["front-2", "fpm-2"]);
    }
}
