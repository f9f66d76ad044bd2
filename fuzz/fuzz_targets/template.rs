//! Templates: what is read says where its values come from, and text without values is itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stampede_scenario::{Feeder, FeederFormat, Names, RowOrder, Slot, Table, Template};

fuzz_target!(|text: &str| {
    let Ok(table) = Table::parse(FeederFormat::Csv, b"id,name\n1,a\n") else { return };
    let feeders = [Feeder { name: "users".to_owned(), table, order: RowOrder::Loop }];
    let captures = ["a".to_owned(), "id".to_owned()];
    match Template::parse(text, Names { captures: &captures, feeders: &feeders }) {
        Ok(template) => {
            for slot in template.slots() {
                match slot {
                    Slot::Capture(number) => assert!(number < captures.len()),
                    Slot::Column { feeder, column } => assert!(feeder == 0 && column < 2),
                }
            }
            if template.slots().next().is_none() {
                assert_eq!(template.texts().collect::<Vec<_>>().concat(), text.replace("$$", "$").as_bytes());
            }
        }
        Err(error) => assert_eq!(text.chars().nth(error.column - 1), Some('$')),
    }
});
