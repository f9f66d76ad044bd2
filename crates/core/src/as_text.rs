//! Values that are kept as the text that people write.

/// What serde's `try_from = "String", into = "String"` needs of a type that is read from text and printed as it.
macro_rules! as_text {
    ($type:ident) => {
        impl TryFrom<String> for $type {
            type Error = <Self as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    };
}
pub(crate) use as_text;
