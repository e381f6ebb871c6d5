//! 8-bit floating-point numbers.
//!
//! **Source**: OCP 8-bit Floating Point Specification 1.0.

use safetensors::Dtype;

/// A type of 8-bit floating-point numbers, by the bits of its exponents and fractions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Float8 {
    E4m3,
    E5m2,
}

impl Float8 {
    /// The type with this name; `None` for others.
    pub(crate) fn new(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::F8_E4M3 => Some(Self::E4m3),
            Dtype::F8_E5M2 => Some(Self::E5m2),
            _ => None,
        }
    }

    /// The number of a code.
    pub(crate) fn decode(self, code: u8) -> f32 {
        match self {
            Self::E4m3 => e4m3(code),
            Self::E5m2 => e5m2(code),
        }
    }
}

/// One sign, four exponent and three fraction bits; no infinity.
fn e4m3(code: u8) -> f32 {
    let magnitude = match (code >> 3 & 0xf, code & 7) {
        (0xf, 7) => f32::NAN,
        (0, fraction) => f32::from(fraction) * 2.0_f32.powi(-9),
        (exponent, fraction) => {
            (1.0 + f32::from(fraction) / 8.0) * 2.0_f32.powi(i32::from(exponent) - 7)
        }
    };
    signed(code, magnitude)
}

/// One sign, five exponent and two fraction bits: the upper half of a half-precision number.
fn e5m2(code: u8) -> f32 {
    let magnitude = match (code >> 2 & 0x1f, code & 3) {
        (0x1f, 0) => f32::INFINITY,
        (0x1f, _) => f32::NAN,
        (0, fraction) => f32::from(fraction) * 2.0_f32.powi(-16),
        (exponent, fraction) => {
            (1.0 + f32::from(fraction) / 4.0) * 2.0_f32.powi(i32::from(exponent) - 15)
        }
    };
    signed(code, magnitude)
}

fn signed(code: u8, magnitude: f32) -> f32 {
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The values are those of the specification's tables.
    #[test]
    fn e4m3_has_the_numbers_of_the_specification() {
        for (code, value) in [
            (0x00, 0.0),
            (0x01, 0.001953125),
            (0x08, 0.015625),
            (0x38, 1.0),
            (0x7e, 448.0),
            (0xfe, -448.0),
        ] {
            assert_eq!(e4m3(code), value, "{code:#x}");
        }
        assert!(e4m3(0x7f).is_nan() && e4m3(0xff).is_nan());
    }

    #[test]
    fn e5m2_has_the_numbers_of_the_specification() {
        for (code, value) in [
            (0x01, f32::from_bits(0x3780_0000)),
            (0x04, f32::from_bits(0x3880_0000)),
            (0x3c, 1.0),
            (0x7b, 57344.0),
            (0xbc, -1.0),
        ] {
            assert_eq!(e5m2(code), value, "{code:#x}");
        }
        assert_eq!(e5m2(0x7c), f32::INFINITY);
        assert!(e5m2(0x7d).is_nan());
    }
}
