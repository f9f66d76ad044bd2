//! Prices by which sizes are compared: a tariff that is known by its name, or a file of one's own.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use stampede_core::{Bytes, Cpus};
use stampede_scale::{MachineOffer, PriceBound, Tariff, TariffRates, tariff, tariffs};

use crate::document::{self, Document, Grammar, Place, Text};
use crate::mistake::{Gathered, Mistakes};
use crate::suggestion::or_list;

const FLAG: &str = "--prices";

/// What you pay: by the hour for a core and a GiB, for machines of fixed sizes, or for nodes that pods share.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TariffFile {
    /// ISO 4217: EUR.
    currency: Option<Text>,
    /// Whose prices they are.
    provider: Option<Text>,
    /// When they were read: 2026-11.
    read: Option<Text>,
    /// Where they were read.
    source: Option<Text>,
    /// Of a core for an hour.
    core_hour: Option<Text>,
    /// Of a GiB for an hour.
    gib_hour: Option<Text>,
    /// Machines that can be bought, in place of hours.
    machines: Option<Vec<MachineEntry>>,
    /// Nodes of a cluster, in place of either: what pods may use of each, and what all of it costs.
    nodes: Option<Vec<MachineEntry>>,
}

/// A machine that can be bought.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MachineEntry {
    /// What it is called.
    name: Text,
    /// Its CPUs.
    cpus: Text,
    /// Its memory.
    memory: Text,
    /// Of a month.
    month: Text,
}

/// What `--prices` takes: each name, and below it whose prices they are.
pub(crate) fn tariff_list() -> String {
    tariffs().into_iter().map(|Tariff { id, provider, .. }| format!("{id}\n    {provider}\n")).collect()
}

/// The tariff that was asked for, the first of those that are known by default.
pub(crate) fn read_tariff(typed: Option<&str>, mistakes: &mut Gathered) -> Option<Tariff> {
    let Some(typed) = typed else { return tariffs().into_iter().next() };
    if let Some(known) = tariff(typed) {
        return Some(known);
    }
    if !Path::new(typed).exists() {
        let all = tariffs();
        let names = all.iter().map(|tariff| tariff.id.as_str());
        let fix = format!("{}; a file of your own works too", or_list(FLAG, typed, names));
        mistakes.add(format!("{FLAG} {typed}"), "is neither known nor a file", fix);
        return None;
    }
    let text = match document::text(Path::new(typed)) {
        Ok(text) => text,
        Err(problem) => {
            mistakes.add(format!("{FLAG} {typed}"), format!("cannot be read: {problem}"), "correct the path");
            return None;
        }
    };
    match parse(&text, typed) {
        Ok(tariff) => Some(tariff),
        Err(found) => {
            mistakes.extend(found);
            None
        }
    }
}

/// Reads the text of a file of prices; `name` is what mistakes call it.
fn parse(text: &str, name: &str) -> Result<Tariff, Mistakes> {
    let schema = schemars::schema_for!(TariffFile).to_value();
    let begin = "begin with currency: EUR, then core_hour: 0.01 and gib_hour: 0.002, or machines: or nodes:";
    let (file, document): (TariffFile, Document) =
        document::read(text, name, &Grammar { schema, is: "a file of prices", begin })?;
    let mut mistakes = Gathered::default();
    let TariffFile { currency, provider, read, source, core_hour, gib_hour, machines, nodes } = file;
    let place = document.place();
    let is_code = |Text(code): &Text| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    match &currency {
        None => mistakes.add(name, "has prices without a currency", "add currency: EUR"),
        Some(code) if !is_code(code) => {
            mistakes.add(place.key("currency"), "is no currency", "write its code of three letters: EUR");
        }
        Some(_) => {}
    }
    let rates = match (machines, nodes, core_hour, gib_hour) {
        (None, None, Some(core), Some(gib)) => {
            let core = read_amount(&core, &place.key("core_hour"), &mut mistakes);
            let gib = read_amount(&gib, &place.key("gib_hour"), &mut mistakes);
            TariffRates::Hours { core, gib, bound: PriceBound::Exact }
        }
        (Some(machines), None, None, None) if !machines.is_empty() => {
            TariffRates::Machines(read_machines(machines, &place.key("machines"), &mut mistakes))
        }
        (None, Some(nodes), None, None) if !nodes.is_empty() => {
            TariffRates::Nodes(read_machines(nodes, &place.key("nodes"), &mut mistakes))
        }
        _ => {
            let fix = "write core_hour and gib_hour together, or machines alone, or nodes alone";
            mistakes.add(name, "has no prices of sizes, or more than one kind of them", fix);
            TariffRates::Machines(Vec::new())
        }
    };
    let text = |text: Option<Text>, default: &str| text.map_or_else(|| default.to_owned(), |Text(text)| text);
    mistakes.finish(Ok(Tariff {
        id: name.to_owned(),
        provider: text(provider, "your own prices"),
        currency: text(currency, ""),
        rates,
        read: text(read, "not said"),
        source: text(source, name),
    }))
}

fn read_amount(Text(text): &Text, place: &Place<'_>, mistakes: &mut Gathered) -> f64 {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => amount,
        _ => {
            mistakes.add(place, "is no price above 0", "write a number such as 0.012");
            1.0
        }
    }
}

fn read_machines(machines: Vec<MachineEntry>, place: &Place<'_>, mistakes: &mut Gathered) -> Vec<MachineOffer> {
    machines.into_iter().enumerate().map(|(index, entry)| read_machine(entry, &place.item(index), mistakes)).collect()
}

fn read_machine(entry: MachineEntry, place: &Place<'_>, mistakes: &mut Gathered) -> MachineOffer {
    let MachineEntry { name: Text(name), cpus: Text(cpus), memory: Text(memory), month } = entry;
    let cpus = cpus.parse::<Cpus>().unwrap_or_else(|problem| {
        mistakes.add(place.key("cpus"), problem, "for example cpus: 2");
        Cpus::from_millis(1000)
    });
    let memory = memory.parse::<Bytes>().unwrap_or_else(|problem| {
        mistakes.add(place.key("memory"), problem, "for example memory: 4Gi");
        Bytes::from_mib(1024)
    });
    let month = read_amount(&month, &place.key("month"), mistakes);
    MachineOffer { name, cpus, memory, month }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_prices_are_hours_machines_or_nodes() {
        let hours = parse("currency: EUR\ncore_hour: 0.01\ngib_hour: 0.002\n", "p.yaml").unwrap();
        assert_eq!(hours.rates, TariffRates::Hours { core: 0.01, gib: 0.002, bound: PriceBound::Exact });
        assert_eq!((hours.currency.as_str(), hours.source.as_str()), ("EUR", "p.yaml"));
        let machines = "currency: USD\nmachines: [{name: small, cpus: 1, memory: 1Gi, month: 5}]\n";
        let TariffRates::Machines(offers) = parse(machines, "p.yaml").unwrap().rates else { panic!("{machines}") };
        assert_eq!((offers[0].name.as_str(), offers[0].memory.mib(), offers[0].month), ("small", 1024.0, 5.0));
        let nodes = "currency: EUR\nnodes: [{name: cx33, cpus: 3.8, memory: 6Gi, month: 6.5}]\n";
        let TariffRates::Nodes(offers) = parse(nodes, "p.yaml").unwrap().rates else { panic!("{nodes}") };
        assert_eq!((offers[0].cpus.millis(), offers[0].month), (3_800, 6.5));
    }

    #[test]
    fn all_mistakes_of_a_file_of_prices_are_told_at_once() {
        let of = |yaml: &str| -> Vec<String> {
            let Err(Mistakes(mistakes)) = parse(yaml, "p") else { return Vec::new() };
            mistakes.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            of("core_hour: free\ngib_hour: 0\n"),
            [
                "p has prices without a currency; add currency: EUR",
                "p:1:12 core_hour free is no price above 0; write a number such as 0.012",
                "p:2:11 gib_hour 0 is no price above 0; write a number such as 0.012",
            ]
        );
        assert_eq!(
            of("currency: euro\n"),
            [
                "p:1:11 currency euro is no currency; write its code of three letters: EUR",
                "p has no prices of sizes, or more than one kind of them; write core_hour and gib_hour together, or \
                 machines alone, or nodes alone",
            ]
        );
        let machines = of("currency: EUR\nmachines: [{name: a, cpus: many, memory: little, month: -1}]\n");
        assert_eq!(machines.len(), 3, "{machines:?}");
        let mut mistakes = Gathered::default();
        assert_eq!(read_tariff(Some("hetzner"), &mut mistakes), None);
        let Mistakes(told) = mistakes.finish(Ok(())).unwrap_err();
        assert_eq!(told[0].fix, "did you mean hetzner-cx? --prices help lists all; a file of your own works too");
    }
}
