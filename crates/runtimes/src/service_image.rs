//! Services that are images of their makers, beside what is under test: a pod each.
//!
//! The image's own entry point makes the database, as its page says. Its clients, which are in the image too, ask it questions.

use std::collections::BTreeMap;
use std::iter;
use std::path::PathBuf;

use stampede_core::{
    BuildStep, ComposeContext, Found, ImageSource, InitScript, Makes, PlanError, Program, Programs, ReadBack, Ready,
    Requirement, RunFile, Service, ServiceKind, Unit,
};

use crate::service::{Rendered, found};
use crate::{mariadb, postgres};

/// What the image of a service is found as.
const fn key(kind: ServiceKind) -> &'static str {
    match kind {
        ServiceKind::Postgres => "the image of postgres",
        ServiceKind::Mariadb => "the image of mariadb",
        ServiceKind::Pgbouncer => "the image of pgbouncer",
        ServiceKind::Redis => "the image of redis",
    }
}

pub(crate) fn requires(kind: ServiceKind, image: &str) -> Vec<Requirement> {
    vec![Requirement::Image { key: key(kind), source: ImageSource::Named(image.to_owned()) }]
}

/// A program of a service's image, where the service is one.
pub(crate) fn program_in(kind: ServiceKind, name: &str, programs: &Programs) -> Option<Found> {
    programs.contains_key(key(kind)).then(|| in_image(name))
}

fn in_image(name: &str) -> Found {
    Found { path: PathBuf::from(name), version: String::new(), php: None }
}

/// A service with its image as the program: the arguments are those after the image's entry point. What fills it is a build, whose file
/// the program reads once the service answers.
pub(crate) fn render(service: &Service, cx: &ComposeContext<'_>) -> Result<Rendered, PlanError> {
    let kind = service.kind;
    let image = &found(kind, key(kind), cx)?.path.display().to_string();
    let init = cx.init.get(&kind);
    match kind {
        ServiceKind::Postgres => {
            let psql = in_image(postgres::PSQL);
            let asked = postgres::settings_of(service);
            let args: Vec<String> =
                asked.iter().flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]).collect();
            let fill = init.map(|init| {
                let words =
                    ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-d", postgres::DATABASE, "-f", "-"];
                let sql =
                    format!("BEGIN;\n{}\nCOMMIT;\nVACUUM (FREEZE, ANALYZE);\nCHECKPOINT;\n\\q\n", init.sql.trim_end());
                build(postgres::client_of(&psql, kind.id(), &words), init, sql)
            });
            Ok(Rendered {
                unit: Unit {
                    build: fill,
                    ready: Ready::Program(postgres::ask(&psql, kind.id(), postgres::DATABASE, "SELECT 1")),
                    ..Unit::new(kind.id(), program(image, args, &postgres::IMAGE), postgres::STOP)
                },
                read_back: ReadBack { program: postgres::read(&psql, &asked), asked },
            })
        }
        ServiceKind::Mariadb => {
            let client = in_image(mariadb::CLIENT);
            let asked = mariadb::settings_of(service);
            let own = iter::once("--port=@{mariadb.port}".to_owned());
            let args = own.chain(asked.iter().map(|(name, value)| format!("--{name}={value}"))).collect();
            let fill = init.map(|init| {
                let sql = format!("{}\n\\q\n", init.sql.trim_end());
                build(mariadb::reader(&client), init, sql)
            });
            Ok(Rendered {
                unit: Unit {
                    build: fill,
                    ready: Ready::Program(mariadb::ask_database(&client, "SELECT 1")),
                    ..Unit::new(kind.id(), program(image, args, &mariadb::IMAGE), mariadb::STOP)
                },
                read_back: ReadBack { program: mariadb::read(&client, &asked), asked },
            })
        }
        ServiceKind::Pgbouncer | ServiceKind::Redis => Err(PlanError::Alone(image.clone())),
    }
}

fn program(image: &str, args: Vec<String>, env: &[(&str, &str)]) -> Program {
    let env: BTreeMap<String, String> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Program { path: image.to_owned(), args, env }
}

fn build(program: Program, init: &InitScript, sql: String) -> BuildStep {
    BuildStep {
        program,
        files: vec![RunFile { path: PathBuf::from(&init.name), text: sql }],
        output: PathBuf::new(),
        makes: Makes::Folder,
        toolchain: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use stampede_core::{Bytes, Cpus, Limits, Load, Topology};

    use super::*;

    fn rendered(kind: ServiceKind, setting: (&str, &str)) -> (Rendered, Vec<Requirement>) {
        let share = Limits { cpus: Cpus::from_millis(500), memory: Bytes::from_mib(512) };
        let service = Service {
            kind,
            settings: [setting].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            share: Some(share),
            image: Some("r/own:1".to_owned()),
        };
        let found = Found { path: PathBuf::from("r/own:1"), version: "sha256:ab".to_owned(), php: None };
        let init = InitScript { name: "shop.sql".to_owned(), sql: "SELECT 1;\n".to_owned(), changes: Vec::new() };
        let cx = ComposeContext {
            topology: &Topology::default(),
            limits: &share,
            load: &Load::Closed { connections: 1 },
            programs: &[(key(kind).to_owned(), found)].into(),
            certificate: None,
            init: &[(kind, init)].into(),
        };
        (crate::service::render(&service, &cx).unwrap(), crate::service::requires_of(&service))
    }

    #[test]
    fn postgres_is_told_what_its_image_reads() {
        let (Rendered { unit, read_back }, requires) = rendered(ServiceKind::Postgres, ("max_connections", "50"));
        let named = ImageSource::Named("r/own:1".to_owned());
        assert_eq!(requires, [Requirement::Image { key: "the image of postgres", source: named }]);
        assert_eq!(
            (unit.program.path.as_str(), unit.program.args.join(" ").as_str()),
            ("r/own:1", "-c max_connections=50 -c shared_buffers=131072kB")
        );
        let env = unit.program.env.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        assert_eq!(
            env,
            [
                "PGPORT=@{postgres.port}",
                "POSTGRES_DB=postgres",
                "POSTGRES_INITDB_ARGS=--encoding=UTF8 --locale=C.UTF-8",
                "POSTGRES_PASSWORD=stampede",
                "POSTGRES_USER=stampede",
            ]
        );
        let Some(BuildStep { program, files, .. }) = unit.build else { panic!("it begins with something") };
        assert_eq!(program.path, "psql");
        assert!(program.args.join(" ").ends_with("-d postgres -f -"), "{program:?}");
        assert_eq!(files[0].text, "BEGIN;\nSELECT 1;\nCOMMIT;\nVACUUM (FREEZE, ANALYZE);\nCHECKPOINT;\n\\q\n");
        assert!(matches!(unit.ready, Ready::Program(_)));
        assert_eq!(read_back.asked["max_connections"], "50");
        assert!(read_back.program.args.concat().contains("'max_connections', 'shared_buffers'"));
    }

    #[test]
    fn mariadb_is_told_what_its_image_reads() {
        let (Rendered { unit, .. }, _) = rendered(ServiceKind::Mariadb, ("max_connections", "50"));
        assert_eq!(
            unit.program.args.join(" "),
            "--port=@{mariadb.port} --innodb_buffer_pool_size=128M --max_connections=50"
        );
        let env = unit.program.env.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        assert_eq!(
            env,
            [
                "MARIADB_DATABASE=stampede",
                "MARIADB_PASSWORD=stampede",
                "MARIADB_ROOT_PASSWORD=stampede",
                "MARIADB_USER=stampede",
            ]
        );
        let Some(BuildStep { program, files, .. }) = unit.build else { panic!("it begins with something") };
        assert_eq!((program.path.as_str(), program.args.last().map(String::as_str)), ("mariadb", Some("stampede")));
        assert_eq!(files[0].text, "SELECT 1;\n\\q\n");
    }
}
