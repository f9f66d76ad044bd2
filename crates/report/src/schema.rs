//! The JSON Schema of what `--json` writes of a question that is no single study.

use schemars::generate::SchemaSettings;
use serde_json::json;

use crate::forecast::WireForecast;
use crate::json::rendered;
use crate::ladder::WireLadder;
use crate::load::{WireLoad, WireSecond};
use crate::size::WireSizing;
use crate::size::service::WireServiceSizing;
use crate::tune::WireTune;

/// All of them: each has its own value of `schema`. It ends with a line break.
pub fn schema() -> String {
    let mut generator = SchemaSettings::draft07().for_serialize().into_generator();
    let reports = [
        generator.subschema_for::<WireTune<'_>>(),
        generator.subschema_for::<WireSizing<'_>>(),
        generator.subschema_for::<WireServiceSizing<'_>>(),
        generator.subschema_for::<WireLadder<'_>>(),
        generator.subschema_for::<WireForecast<'_>>(),
        generator.subschema_for::<WireLoad<'_>>(),
        generator.subschema_for::<WireSecond>(),
    ];
    rendered(&json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "What stampede tune, tune --steps, size, forecast and load write as JSON",
        "oneOf": reports,
        "definitions": generator.take_definitions(true),
    }))
}
