//! Arrays of metadata values: one vector of the element type each.

use std::fmt;

use super::value::show_text;
use super::{MetadataType, StringArray};

/// A metadata array, compact and typed; an empty one keeps its element type.
///
/// `Display` prints the first elements and the length, for people.
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

/// How many elements `Display` prints.
const SHOWN_ELEMENTS: usize = 4;

impl MetadataArray {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::I8(values) => values.len(),
            Self::U16(values) => values.len(),
            Self::I16(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::String(strings) => strings.len(),
            Self::Array(arrays) => arrays.len(),
            Self::U64(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements.
    pub fn element_type(&self) -> MetadataType {
        match self {
            Self::U8(_) => MetadataType::U8,
            Self::I8(_) => MetadataType::I8,
            Self::U16(_) => MetadataType::U16,
            Self::I16(_) => MetadataType::I16,
            Self::U32(_) => MetadataType::U32,
            Self::I32(_) => MetadataType::I32,
            Self::F32(_) => MetadataType::F32,
            Self::Bool(_) => MetadataType::Bool,
            Self::String(_) => MetadataType::String,
            Self::Array(_) => MetadataType::Array,
            Self::U64(_) => MetadataType::U64,
            Self::I64(_) => MetadataType::I64,
            Self::F64(_) => MetadataType::F64,
        }
    }
}

impl fmt::Display for MetadataArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U8(values) => show(values, f, fmt::Display::fmt),
            Self::I8(values) => show(values, f, fmt::Display::fmt),
            Self::U16(values) => show(values, f, fmt::Display::fmt),
            Self::I16(values) => show(values, f, fmt::Display::fmt),
            Self::U32(values) => show(values, f, fmt::Display::fmt),
            Self::I32(values) => show(values, f, fmt::Display::fmt),
            Self::F32(values) => show(values, f, fmt::Debug::fmt),
            Self::Bool(values) => show(values, f, fmt::Display::fmt),
            Self::String(strings) => show(strings, f, show_text),
            Self::Array(arrays) => show(arrays, f, fmt::Display::fmt),
            Self::U64(values) => show(values, f, fmt::Display::fmt),
            Self::I64(values) => show(values, f, fmt::Display::fmt),
            Self::F64(values) => show(values, f, fmt::Debug::fmt),
        }
    }
}

/// Prints the first elements and, where there are more, how many there are in all.
fn show<T>(
    elements: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    f: &mut fmt::Formatter<'_>,
    show_element: impl Fn(T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    let elements = elements.into_iter();
    let len = elements.len();
    f.write_str("[")?;
    for (i, element) in elements.take(SHOWN_ELEMENTS).enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        show_element(element, f)?;
    }
    if len > SHOWN_ELEMENTS {
        write!(f, ", … ({len} in all)")?;
    }
    f.write_str("]")
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
