//! Conversion of metadata values to Rust types.
//!
//! Writers use different integer widths for the same key, so every integer type accepts every other
//! whose value it can represent. Lossy conversions fail.

use super::variants::match_numbers;
use super::{MetadataArray, MetadataValue, StringArray};

/// A type that [`Metadata::required`](super::Metadata::required) and
/// [`Metadata::optional`](super::Metadata::optional) convert values to.
///
/// Integers accept any integer type whose value fits; floats accept any float type, and integers
/// that they represent exactly; `Vec`s of both accept arrays accordingly.
pub trait FromMetadata<'a>: Sized {
    /// Description of the type, for error messages.
    const EXPECTED: &'static str;

    /// Converts a value; `None` if its type differs or the value does not fit.
    fn from_metadata(value: &'a MetadataValue) -> Option<Self>;
}

/// A number that converts to other number types if they can represent its value.
trait Number: Copy {
    fn from_integer(integer: i128) -> Option<Self>;
    fn from_float(float: f64) -> Option<Self>;
    fn convert<T: Number>(self) -> Option<T>;
}

macro_rules! integers {
    ($($integer:ty, $expected:literal, $expected_array:literal;)*) => {$(
        impl Number for $integer {
            fn from_integer(integer: i128) -> Option<Self> {
                integer.try_into().ok()
            }

            fn from_float(_: f64) -> Option<Self> {
                None
            }

            fn convert<T: Number>(self) -> Option<T> {
                T::from_integer(self as i128)
            }
        }

        number_conversions!($integer, $expected, $expected_array);
    )*};
}

macro_rules! floats {
    ($($float:ty, $expected:literal, $expected_array:literal;)*) => {$(
        impl Number for $float {
            fn from_integer(integer: i128) -> Option<Self> {
                let float = integer as $float;
                (float as i128 == integer).then_some(float)
            }

            fn from_float(float: f64) -> Option<Self> {
                let narrow = float as $float;
                (narrow.is_finite() || !float.is_finite()).then_some(narrow)
            }

            fn convert<T: Number>(self) -> Option<T> {
                T::from_float(self.into())
            }
        }

        number_conversions!($float, $expected, $expected_array);
    )*};
}

macro_rules! number_conversions {
    ($number:ty, $expected:literal, $expected_array:literal) => {
        impl<'a> FromMetadata<'a> for $number {
            const EXPECTED: &'static str = $expected;

            fn from_metadata(value: &'a MetadataValue) -> Option<Self> {
                number(value)
            }
        }

        impl<'a> FromMetadata<'a> for Vec<$number> {
            const EXPECTED: &'static str = $expected_array;

            fn from_metadata(value: &'a MetadataValue) -> Option<Self> {
                match value {
                    MetadataValue::Array(array) => numbers(array),
                    _ => None,
                }
            }
        }
    };
}

integers! {
    u8, "an integer from 0 to 255", "an array of integers from 0 to 255";
    i8, "an integer from -128 to 127", "an array of integers from -128 to 127";
    u16, "an integer from 0 to 65535", "an array of integers from 0 to 65535";
    i16, "an integer from -32768 to 32767", "an array of integers from -32768 to 32767";
    u32, "an unsigned 32-bit integer", "an array of unsigned 32-bit integers";
    i32, "a signed 32-bit integer", "an array of signed 32-bit integers";
    u64, "an unsigned 64-bit integer", "an array of unsigned 64-bit integers";
    i64, "a signed 64-bit integer", "an array of signed 64-bit integers";
    usize, "an integer of at least 0", "an array of integers of at least 0";
}

floats! {
    f32, "a 32-bit float", "an array of 32-bit floats";
    f64, "a 64-bit float", "an array of 64-bit floats";
}

fn number<T: Number>(value: &MetadataValue) -> Option<T> {
    match_numbers!(MetadataValue, value, number => number.convert(), _ => None,)
}

fn numbers<T: Number>(array: &MetadataArray) -> Option<Vec<T>> {
    match_numbers!(
        MetadataArray, array, numbers => numbers.iter().map(|number| number.convert()).collect(),
        _ => None,
    )
}

/// Conversions from exactly one variant.
macro_rules! exact_conversions {
    ($($target:ty, $expected:literal, $pattern:pat => $result:expr;)*) => {$(
        impl<'a> FromMetadata<'a> for $target {
            const EXPECTED: &'static str = $expected;

            fn from_metadata(value: &'a MetadataValue) -> Option<Self> {
                match value {
                    $pattern => Some($result),
                    _ => None,
                }
            }
        }
    )*};
}

exact_conversions! {
    bool, "a boolean", MetadataValue::Bool(value) => *value;
    &'a str, "a string", MetadataValue::String(text) => text;
    String, "a string", MetadataValue::String(text) => text.clone();
    &'a MetadataArray, "an array", MetadataValue::Array(array) => array;
    &'a StringArray, "an array of strings", MetadataValue::Array(MetadataArray::String(array)) => array;
    Vec<bool>, "an array of booleans", MetadataValue::Array(MetadataArray::Bool(values)) => values.clone();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert<T: for<'a> FromMetadata<'a>>(value: impl Into<MetadataValue>) -> Option<T> {
        T::from_metadata(&value.into())
    }

    #[test]
    fn integers_of_any_width_convert_if_they_fit() {
        assert_eq!(convert::<u32>(7_u8), Some(7));
        assert_eq!(convert::<u32>(4_294_967_295_i64), Some(u32::MAX));
        assert_eq!(convert::<u32>(4_294_967_296_u64), None);
        assert_eq!(convert::<u32>(-1_i32), None);
        assert_eq!(convert::<i64>(u64::MAX), None);
        assert_eq!(convert::<i8>(-128_i16), Some(-128));
    }

    #[test]
    fn floats_convert_from_floats_and_exact_integers() {
        assert_eq!(convert::<f32>(0.1_f64), Some(0.1_f32));
        assert_eq!(convert::<f32>(10_000_u32), Some(10_000.0));
        assert_eq!(convert::<f32>(16_777_217_u32), None);
        assert_eq!(convert::<f32>(1e300_f64), None);
        assert_eq!(convert::<f32>(f64::INFINITY), Some(f32::INFINITY));
        assert!(convert::<f32>(f64::NAN).is_some_and(f32::is_nan));
        assert_eq!(convert::<f64>(i64::MIN), Some(i64::MIN as f64));
    }

    #[test]
    fn integers_do_not_convert_from_floats_booleans_or_strings() {
        assert_eq!(convert::<u32>(1.0_f32), None);
        assert_eq!(convert::<u32>(true), None);
        assert_eq!(convert::<u32>("1"), None);
        assert_eq!(convert::<bool>(1_u8), None);
    }

    #[test]
    fn arrays_convert_only_if_every_element_fits() {
        assert_eq!(convert::<Vec<u32>>(vec![1_i64, 2]), Some(vec![1, 2]));
        assert_eq!(convert::<Vec<u32>>(vec![1_i64, -2]), None);
        assert_eq!(convert::<Vec<f32>>(vec![0.5_f64, 2.0]), Some(vec![0.5, 2.0]));
        assert_eq!(convert::<Vec<u32>>(3_u32), None);
        assert_eq!(convert::<Vec<bool>>(vec![true, false]), Some(vec![true, false]));
    }
}
