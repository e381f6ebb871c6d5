//! Scales in the types that files have.

use std::sync::Arc;

use inferno_tensor::{DType, quant};

use super::Float8;

/// The scales of a tensor.
#[derive(Debug, Clone)]
pub(crate) struct Scales {
    /// Number of the tensor with the scales.
    pub(crate) tensor: usize,
    pub(crate) format: ScaleFormat,
    /// A second scale, of the whole tensor.
    pub(crate) factor: Option<Factor>,
}

/// How scales are stored.
#[derive(Debug, Clone)]
pub(crate) enum ScaleFormat {
    /// Floating-point numbers of 16 or 32 bits.
    Floats(DType),
    /// 8-bit floating-point numbers.
    Float8(Float8),
    /// Exponents of two plus 127.
    Exponents,
    /// Codes with scales of their own, of runs of `run` codes each: `levels[code] * scales[index / run] + offset`.
    Codes { levels: Arc<[f32]>, scales: Arc<[f32]>, run: usize, offset: f32 },
}

/// What the scales of a tensor are multiplied or divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Factor {
    Multiply(f32),
    Divide(f32),
}

impl Scales {
    /// The scale with a number; `bytes` are those of the tensor.
    pub(crate) fn value(&self, bytes: &[u8], index: usize) -> f32 {
        let value = match &self.format {
            ScaleFormat::Floats(dtype) => {
                let size = dtype.block_bytes();
                let mut value = [0.0];
                quant::decode_row(*dtype, &bytes[index * size..][..size], &mut value)
                    .expect("floats have no blocks");
                value[0]
            }
            ScaleFormat::Float8(float) => float.decode(bytes[index]),
            ScaleFormat::Exponents => power_of_two(bytes[index]),
            ScaleFormat::Codes { levels, scales, run, offset } => {
                levels[usize::from(bytes[index])] * scales[index / run] + offset
            }
        };
        match self.factor {
            None => value,
            Some(Factor::Multiply(factor)) => value * factor,
            Some(Factor::Divide(divisor)) => value / divisor,
        }
    }

    /// What the scales are multiplied by, as one number.
    pub(crate) fn of_tensor(&self) -> f32 {
        match self.factor {
            None => 1.0,
            Some(Factor::Multiply(factor)) => factor,
            Some(Factor::Divide(divisor)) => 1.0 / divisor,
        }
    }
}

/// `2^(exponent - 127)`; not a number for the largest exponent.
///
/// **Source**: OCP Microscaling Formats (MX) Specification 1.0, section 5.4.1.
pub(super) fn power_of_two(exponent: u8) -> f32 {
    match exponent {
        0 => f32::from_bits(0x0040_0000),
        0xff => f32::NAN,
        exponent => f32::from_bits(u32::from(exponent) << 23),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_powers_of_two() {
        for (exponent, power) in [(0, -127), (1, -126), (127, 0), (254, 127)] {
            assert_eq!(f64::from(power_of_two(exponent)), 2.0_f64.powi(power));
        }
        assert!(power_of_two(255).is_nan());
    }
}
