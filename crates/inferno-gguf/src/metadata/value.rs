//! Metadata values.

use std::fmt;

use super::encode::encode_value;
use super::show::show_text;
use super::variants::{match_numbers, variant_type};
use super::{MetadataArray, MetadataType, StringArray};

/// The value of a metadata key.
///
/// `Display` truncates long arrays and strings.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The variants are the types of `MetadataType`, one to one.
pub enum MetadataValue {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    Array(MetadataArray),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl MetadataValue {
    /// The type of the value.
    pub fn value_type(&self) -> MetadataType {
        variant_type!(Self, self)
    }

    /// The value as files store it, without its type. Arrays that are nested too deeply for a file are incomplete.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_value(self, &mut bytes);
        bytes
    }

    /// The type and the value, short enough for an error message.
    pub(crate) fn summary(&self) -> String {
        match self {
            Self::Array(array) => {
                format!("array of {} {}", array.len(), array.element_type())
            }
            value => format!("{} {value}", value.value_type()),
        }
    }
}

impl fmt::Display for MetadataValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match_numbers!(
            Self, self, number => fmt::Debug::fmt(number, f),
            Self::Bool(value) => fmt::Display::fmt(value, f),
            Self::String(text) => show_text(text, f),
            Self::Array(array) => fmt::Display::fmt(array, f),
        )
    }
}

macro_rules! value_from {
    ($($variant:ident from $source:ty;)*) => {
        $(impl From<$source> for MetadataValue {
            fn from(value: $source) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

value_from! {
    U8 from u8;
    I8 from i8;
    U16 from u16;
    I16 from i16;
    U32 from u32;
    I32 from i32;
    F32 from f32;
    Bool from bool;
    String from String;
    String from &str;
    Array from MetadataArray;
    Array from StringArray;
    Array from Vec<u8>;
    Array from Vec<i8>;
    Array from Vec<u16>;
    Array from Vec<i16>;
    Array from Vec<u32>;
    Array from Vec<i32>;
    Array from Vec<f32>;
    Array from Vec<bool>;
    Array from Vec<MetadataArray>;
    Array from Vec<u64>;
    Array from Vec<i64>;
    Array from Vec<f64>;
    U64 from u64;
    I64 from i64;
    F64 from f64;
}
