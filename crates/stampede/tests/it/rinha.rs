//! The load of Rinha de Backend 2023 Q3, as docs/scenarios.md states it, in full length.

#[path = "../../../load/tests/it/people.rs"]
mod people;

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use self::people::{PeopleServer, Seen};
use crate::stage::Stage;

const CREATIONS: u64 = 54_635;
const SEARCHES: u64 = 9_590;
const INVALID: u64 = 4_190;

/// Every tenth person is there already.
const CREATED: u64 = CREATIONS - CREATIONS / 10;

#[test]
#[ignore = "takes 205 s: cargo test -p stampede --test it -- --ignored --nocapture the_whole_load_of_rinha"]
fn the_whole_load_of_rinha_arrives_person_by_person() {
    let document = include_str!("../../../../docs/scenarios.md");
    let scenario = document.rsplit_once("```yaml\n").unwrap().1.split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut people = "payload\n".to_owned();
    for row in 0..CREATIONS {
        let number = if row % 10 == 9 { row - 1 } else { row };
        writeln!(people, "{{\"apelido\":\"p{number}\",\"nome\":\"Ana \\u00e9\"}}").unwrap();
    }
    for (name, text) in
        [("rinha.yaml", scenario), ("pessoas-payloads.tsv", &people), ("termos-busca.tsv", "t\na b\nc\n")]
    {
        fs::write(place(name), text).unwrap();
    }

    let server = PeopleServer::start();
    let url = format!("http://{}/", server.host());
    let (file, json) = (place("rinha.yaml"), place("result.json"));
    let said = Stage::new().run(&["load", &url, "--scenario", &file, "--json", &json, "--quiet"]);
    let Seen { connections, created, duplicates, followed, searched, invalid, unknown, .. } = server.stop();
    println!(
        "{created} created, {duplicates} refused, {followed} followed, {searched} searches, {invalid} invalid, on \
         {connections} connections\n{}{}",
        said.stdout, said.stderr
    );
    assert_eq!((created, duplicates, followed, unknown), (CREATED, CREATIONS - CREATED, CREATED, 0));
    assert_eq!((searched, invalid), (SEARCHES, INVALID));

    let told: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let step = |name: &str| {
        let steps = told["steps"].as_array().unwrap();
        let requests = &steps.iter().find(|step| step["name"] == name).unwrap()["requests"];
        (requests["ok"].as_u64().unwrap(), requests["sent"].as_u64().unwrap())
    };
    for (name, count) in [
        ("create and follow/create", CREATIONS),
        ("create and follow/follow", CREATED),
        ("search", SEARCHES),
        ("invalid search", INVALID),
    ] {
        assert_eq!(step(name), (count, count), "{name}");
    }
    assert_eq!((&told["requests"]["failed"], &told["requests"]["unsent"]), (&0.into(), &0.into()));
}
