//! Coarser formats by choice at load time, for files that hold floats.

use std::fmt;
use std::str::FromStr;

use inferno_backend::WeightPart;
use inferno_tensor::{DType, quant};
use rayon::prelude::*;

use crate::ModelError;

/// The format that float weights are turned into while they are loaded (`--requantize`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requantize {
    /// One scale an output channel, 8 bits a weight.
    Int8,
    /// One scale for 32 weights, 8 bits a weight.
    Q8_0,
    /// One scale for 32 weights, 4 bits a weight.
    Q4_0,
    /// Scales and minima for 32 weights within blocks of 256, 4 bits a weight.
    Q4K,
}

impl Requantize {
    /// All choices.
    pub const ALL: [Self; 4] = [Self::Int8, Self::Q8_0, Self::Q4_0, Self::Q4K];

    /// The tensor format.
    pub fn dtype(self) -> DType {
        match self {
            Self::Int8 => DType::Int8,
            Self::Q8_0 => DType::Q8_0,
            Self::Q4_0 => DType::Q4_0,
            Self::Q4K => DType::Q4K,
        }
    }

    /// What becomes of a weight of format `from` with rows of `cols` values.
    ///
    /// Formats that are quantized already stay. Rows that do not divide into the format's blocks
    /// fall back to one scale a row, which takes any length.
    pub fn target(self, from: DType, cols: usize) -> DType {
        match self.dtype() {
            _ if !from.is_float() => from,
            dtype if !cols.is_multiple_of(dtype.block_len()) => DType::Int8,
            dtype => dtype,
        }
    }

    /// `part` in its new format.
    pub(crate) fn apply(self, part: WeightPart) -> Result<WeightPart, ModelError> {
        let target = self.target(part.dtype(), part.cols());
        if target == part.dtype() {
            return Ok(part);
        }
        let row_bytes = target.row_bytes(part.cols())?;
        let mut bytes = vec![0; part.num_experts() * part.rows() * row_bytes];
        let rows = part
            .bytes()
            .par_chunks(part.row_bytes())
            .zip(bytes.par_chunks_mut(row_bytes));
        rows.try_for_each_init(
            || vec![0.0; part.cols()],
            |values, (row, out)| {
                quant::decode_row(part.dtype(), row, values)?;
                quant::encode_row(target, values, out)
            },
        )?;
        let (experts, rows, cols) = (part.num_experts(), part.rows(), part.cols());
        Ok(WeightPart::experts(
            part.name(),
            target,
            experts,
            rows,
            cols,
            bytes.into(),
        )?)
    }
}

impl fmt::Display for Requantize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int8 => "int8",
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
            Self::Q4K => "q4_k",
        })
    }
}

impl FromStr for Requantize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|choice| choice.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                format!("cannot requantize to `{text}`; choose int8, q8_0, q4_0 or q4_k")
            })
    }
}
