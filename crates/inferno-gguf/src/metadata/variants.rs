//! Matching on the variants that `MetadataType`, `MetadataValue` and `MetadataArray` have in common.

/// A `match` with one arm for all ten number variants, followed by further arms.
macro_rules! match_numbers {
    ($of:ident, $value:expr, $number:ident => $body:expr, $($arms:tt)*) => {
        match $value {
            $of::U8($number) => $body,
            $of::I8($number) => $body,
            $of::U16($number) => $body,
            $of::I16($number) => $body,
            $of::U32($number) => $body,
            $of::I32($number) => $body,
            $of::U64($number) => $body,
            $of::I64($number) => $body,
            $of::F32($number) => $body,
            $of::F64($number) => $body,
            $($arms)*
        }
    };
}

/// The `MetadataType` with the name of a value's variant.
macro_rules! variant_type {
    ($of:ident, $value:expr, $($variant:ident)*) => {
        match $value {
            $($of::$variant(_) => MetadataType::$variant,)*
        }
    };
    ($of:ident, $value:expr) => {
        variant_type!($of, $value, U8 I8 U16 I16 U32 I32 F32 Bool String Array U64 I64 F64)
    };
}

pub(super) use {match_numbers, variant_type};
