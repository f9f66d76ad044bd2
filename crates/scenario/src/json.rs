//! One value of a JSON text, found by a JSON pointer (RFC 6901) without reading the others into memory.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

/// Where a value is in a JSON text (RFC 6901): `/data/0/id`, and the empty text for the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    tokens: Vec<String>,
}

impl Pointer {
    /// The value that it points to, as it is written; `None` when there is none, or the text is no JSON.
    pub(crate) fn find<'a>(&self, json: &'a [u8]) -> Option<&'a RawValue> {
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let found = Seek(&self.tokens).deserialize(&mut deserializer).ok()?;
        deserializer.end().ok()?;
        found
    }
}

impl FromStr for Pointer {
    type Err = ParsePointerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(tokens) = text.strip_prefix('/') else {
            return if text.is_empty() { Ok(Self { tokens: Vec::new() }) } else { Err(ParsePointerError::Slash) };
        };
        let unescape = |token: &str| {
            let bare = token.replace("~0", "").replace("~1", "");
            // First `~1`, then `~0`, so that `~01` is `~1` (section 4).
            if bare.contains('~') { None } else { Some(token.replace("~1", "/").replace("~0", "~")) }
        };
        let tokens = tokens.split('/').map(unescape).collect::<Option<_>>().ok_or(ParsePointerError::Tilde)?;
        Ok(Self { tokens })
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tokens.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

/// As its text.
impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Why a JSON pointer could not be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ParsePointerError {
    /// It does not begin with a slash.
    #[error("is a JSON pointer without a leading /")]
    Slash,
    /// A tilde is followed by neither 0 nor 1.
    #[error("is a JSON pointer with a ~ that is neither ~0 (a tilde) nor ~1 (a slash)")]
    Tilde,
}

/// The text of a value: that of a string itself, of anything else its JSON.
pub(crate) fn text(value: &RawValue) -> Cow<'_, str> {
    let json = value.get();
    match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        None => Cow::Borrowed(json),
        Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
        // A lone surrogate is valid JSON and no text.
        Some(_) => serde_json::from_str(json).map_or(Cow::Borrowed(json), Cow::Owned),
    }
}

/// Whether two values mean the same: numbers by value, objects in any order.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64() && !(a.is_i64() && b.is_i64()),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => one == other,
    }
}

/// Goes to where the tokens lead.
struct Seek<'t>(&'t [String]);

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0.split_first() {
            None => serde::Deserialize::deserialize(deserializer).map(Some),
            Some((token, rest)) => deserializer.deserialize_any(SeekVisitor { token, rest }),
        }
    }
}

struct SeekVisitor<'t> {
    token: &'t str,
    rest: &'t [String],
}

impl SeekVisitor<'_> {
    /// An array's index: no sign, no leading zero (section 4). `-` is past the end.
    fn index(&self) -> Option<usize> {
        let plain = self.token == "0" || !self.token.starts_with(['0', '+']);
        if plain { self.token.parse().ok() } else { None }
    }
}

impl<'de> Visitor<'de> for SeekVisitor<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(KeyIs(self.token))? {
            if is_it {
                // Of members with one name the last counts, as most readers have it (RFC 8259, section 4).
                found = map.next_value_seed(Seek(self.rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let wanted = self.index();
        let mut found = None;
        for index in 0_usize.. {
            if Some(index) == wanted {
                match elements.next_element_seed(Seek(self.rest))? {
                    Some(value) => found = value,
                    None => break,
                }
            } else if elements.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a member has this name.
struct KeyIs<'t>(&'t str);

impl<'de> DeserializeSeed<'de> for KeyIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyIs<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_of_rfc_6901_point_where_it_says() {
        // Section 5.
        let document = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}"#;
        for (pointer, value) in [
            ("", Some(document)),
            ("/foo", Some(r#"["bar", "baz"]"#)),
            ("/foo/0", Some(r#""bar""#)),
            ("/", Some("0")),
            ("/a~1b", Some("1")),
            ("/c%d", Some("2")),
            ("/e^f", Some("3")),
            ("/g|h", Some("4")),
            ("/i\\j", Some("5")),
            ("/k\"l", Some("6")),
            ("/ ", Some("7")),
            ("/m~0n", Some("8")),
            // Errors of section 7.
            ("/foo/2", None),
            ("/foo/-", None),
            ("/foo/00", None),
            ("/foo/01", None),
            ("/foo/+1", None),
            ("/foo/0/x", None),
            ("/bar", None),
            ("/foo/0/", None),
        ] {
            let found = pointer.parse::<Pointer>().unwrap().find(document.as_bytes()).map(RawValue::get);
            assert_eq!(found, value, "{pointer}");
            assert_eq!(pointer.parse::<Pointer>().unwrap().to_string(), pointer);
        }
        assert_eq!("foo".parse::<Pointer>(), Err(ParsePointerError::Slash));
        assert_eq!("/a~2".parse::<Pointer>(), Err(ParsePointerError::Tilde));
        assert_eq!("/~".parse::<Pointer>(), Err(ParsePointerError::Tilde));
    }

    #[test]
    fn values_have_a_text() {
        for (json, pointer, expected) in [
            (r#"{"id": 12345678901234567890123}"#, "/id", Some("12345678901234567890123")),
            (r#"[{"id": "a"}, {"id": "b\u00e9\/"}]"#, "/1/id", Some("bé/")),
            (r#"{"a": 1, "a": 2}"#, "/a", Some("2")),
            (r#"{"a": [1, {"b": null}]}"#, "/a", Some(r#"[1, {"b": null}]"#)),
            (r#"{"a": null}"#, "/a", Some("null")),
            ("{\"a\": 1", "/a", None),
            ("{\"a\": 1} x", "/a", None),
            ("", "", None),
            ("\"\"", "", Some("")),
        ] {
            let pointer: Pointer = pointer.parse().unwrap();
            assert_eq!(pointer.find(json.as_bytes()).map(text).as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn values_are_the_same_by_meaning() {
        for (one, other, expected) in [
            (json!(1), json!(1.0), true),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64), false),
            (json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1}), true),
            (json!({"a": 1}), json!({"a": 1, "b": null}), false),
            (json!("1"), json!(1), false),
            (json!([1, 2]), json!([2, 1]), false),
            (json!(null), json!(null), true),
        ] {
            assert_eq!(same(&one, &other), expected, "{one} {other}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a~/é\"]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a~/é01]{0,2}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// The other implementation of RFC 6901 is that of serde_json.
        #[test]
        fn it_finds_what_serde_json_finds(json in any_json(), tokens in prop::collection::vec("[a~/é012-]{0,2}", 0..4)) {
            let text: String =
                tokens.iter().map(|token| format!("/{}", token.replace('~', "~0").replace('/', "~1"))).collect();
            let found = text.parse::<Pointer>().unwrap();
            let serialized = json.to_string();
            let found = found.find(serialized.as_bytes()).map(|raw| serde_json::from_str::<Value>(raw.get()).unwrap());
            prop_assert_eq!(found.as_ref(), json.pointer(&text));
        }
    }
}
