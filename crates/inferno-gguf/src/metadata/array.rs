//! Arrays of metadata values, as vectors of the element type.

use std::fmt;

use super::show::{show_elements, show_text};
use super::variants::{match_numbers, variant_type};
use super::{MetadataType, StringArray};

/// A compact, typed metadata array. Empty arrays have an element type, too.
///
/// `Display` prints the first elements and the length.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The variants are the types of `MetadataType`, one to one.
pub enum MetadataArray {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    String(StringArray),
    Array(Vec<MetadataArray>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

impl MetadataArray {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match_numbers!(
            Self, self, numbers => numbers.len(),
            Self::Bool(values) => values.len(),
            Self::String(strings) => strings.len(),
            Self::Array(arrays) => arrays.len(),
        )
    }

    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements.
    pub fn element_type(&self) -> MetadataType {
        variant_type!(Self, self)
    }
}

impl fmt::Display for MetadataArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match_numbers!(
            Self, self, numbers => show_elements(numbers, f, fmt::Debug::fmt),
            Self::Bool(values) => show_elements(values, f, fmt::Display::fmt),
            Self::String(strings) => show_elements(strings, f, show_text),
            Self::Array(arrays) => show_elements(arrays, f, fmt::Display::fmt),
        )
    }
}

macro_rules! array_from {
    ($($variant:ident from $source:ty;)*) => {
        $(impl From<$source> for MetadataArray {
            fn from(elements: $source) -> Self {
                Self::$variant(elements)
            }
        })*
    };
}

array_from! {
    U8 from Vec<u8>;
    I8 from Vec<i8>;
    U16 from Vec<u16>;
    I16 from Vec<i16>;
    U32 from Vec<u32>;
    I32 from Vec<i32>;
    F32 from Vec<f32>;
    Bool from Vec<bool>;
    String from StringArray;
    Array from Vec<MetadataArray>;
    U64 from Vec<u64>;
    I64 from Vec<i64>;
    F64 from Vec<f64>;
}
