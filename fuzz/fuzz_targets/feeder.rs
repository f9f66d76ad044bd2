//! Feeders: a table is whole, and what it holds reads back when it is written as RFC 4180 says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stampede_scenario::{FeederFormat, Table};

fuzz_target!(|bytes: &[u8]| {
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    for format in [FeederFormat::Csv, FeederFormat::Tsv, FeederFormat::JsonLines] {
        let table = match Table::parse(format, bytes) {
            Ok(table) => table,
            Err(error) => {
                assert!((1..=lines).contains(&error.line), "{error}");
                continue;
            }
        };
        let columns = table.columns().len();
        assert!(columns > 0 && table.rows() > 0);
        let cell = |row, column| String::from_utf8(table.cell(row, column).to_vec()).expect("cells are UTF-8");
        let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
        let head = table.columns().iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
        let rows = (0..table.rows())
            .map(|row| (0..columns).map(|column| quoted(&cell(row, column))).collect::<Vec<_>>().join(","));
        let text = [head].into_iter().chain(rows).collect::<Vec<_>>().join("\r\n");
        assert_eq!(Table::parse(FeederFormat::Csv, text.as_bytes()).expect("it is a table"), table);
    }
});
