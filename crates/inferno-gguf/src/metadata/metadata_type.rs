//! The thirteen types of metadata values.

use std::fmt;

/// The type of a metadata value; the discriminant is its number in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum MetadataType {
    /// An unsigned 8-bit integer.
    U8 = 0,
    /// A signed 8-bit integer.
    I8 = 1,
    /// An unsigned 16-bit integer.
    U16 = 2,
    /// A signed 16-bit integer.
    I16 = 3,
    /// An unsigned 32-bit integer.
    U32 = 4,
    /// A signed 32-bit integer.
    I32 = 5,
    /// A single-precision number.
    F32 = 6,
    /// True or false, one byte.
    Bool = 7,
    /// UTF-8 text.
    String = 8,
    /// A sequence of values of one type.
    Array = 9,
    /// An unsigned 64-bit integer.
    U64 = 10,
    /// A signed 64-bit integer.
    I64 = 11,
    /// A double-precision number.
    F64 = 12,
}

impl MetadataType {
    /// The type with this number in files, if there is one.
    pub const fn from_id(id: u32) -> Option<Self> {
        Some(match id {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::F32,
            7 => Self::Bool,
            8 => Self::String,
            9 => Self::Array,
            10 => Self::U64,
            11 => Self::I64,
            12 => Self::F64,
            _ => return None,
        })
    }

    /// The type's number in files.
    pub const fn id(self) -> u32 {
        self as u32
    }

    /// The type's name as in Rust, such as `u32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::Bool => "bool",
            Self::String => "string",
            Self::Array => "array",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for MetadataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
