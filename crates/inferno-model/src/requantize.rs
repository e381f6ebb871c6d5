//! Quantizing float weights while a model is loaded.

use std::fmt;
use std::str::FromStr;

use inferno_backend::{BackendError, WeightPart};
use inferno_tensor::{DType, quant};
use rayon::prelude::*;

use crate::ModelError;

/// The format that float weights are converted to at load time (`--requantize`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requantize {
    /// 8 bits per weight, one scale per output channel.
    Int8,
    /// 8 bits per weight, one scale per 32 weights.
    Q8_0,
    /// 4 bits per weight, one scale per 32 weights.
    Q4_0,
    /// 4 bits per weight, one scale and minimum per 32 weights, in blocks of 256.
    Q4K,
}

impl Requantize {
    /// Every choice.
    pub const ALL: [Self; 4] = [Self::Int8, Self::Q8_0, Self::Q4_0, Self::Q4K];

    /// The tensor format that is preferred for weights.
    pub fn dtype(self) -> DType {
        match self {
            Self::Int8 => DType::Int8,
            Self::Q8_0 => DType::Q8_0,
            Self::Q4_0 => DType::Q4_0,
            Self::Q4K => DType::Q4K,
        }
    }

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
            Self::Q4K => "q4_k",
        }
    }

    /// The format that a weight of format `from` with rows of `cols` values is converted to.
    ///
    /// Quantized weights are not converted. If the preferred format's blocks do not divide the
    /// rows, a format of the same width with shorter blocks is used, or else one scale per row.
    pub fn target(self, from: DType, cols: usize) -> DType {
        let divides = |dtype: &DType| cols.is_multiple_of(dtype.block_len());
        match self {
            _ if !from.is_float() => from,
            Self::Q4K => [DType::Q4K, DType::Q4_0].into_iter().find(divides).unwrap_or(DType::Int8),
            _ => Some(self.dtype()).filter(divides).unwrap_or(DType::Int8),
        }
    }

    /// The conversion of tables for lookups, if they are converted: the same as in files quantized to INT8, which store
    /// an embedding table once, even if it is the output head as well.
    pub(crate) fn for_tables(self) -> Option<Self> {
        (self == Self::Int8).then_some(self)
    }

    /// Converts `part` to its target format.
    pub(crate) fn apply(self, part: WeightPart) -> Result<WeightPart, BackendError> {
        let target = self.target(part.dtype(), part.cols());
        if target == part.dtype() {
            return Ok(part);
        }
        let named = |source| BackendError::WeightShape { name: part.name().to_owned(), source };
        let row_bytes = target.row_bytes(part.cols()).map_err(named)?;
        let mut bytes = vec![0; part.num_experts() * part.rows() * row_bytes];
        let (experts, num_rows, cols) = (part.num_experts(), part.rows(), part.cols());
        bytes.par_chunks_mut(row_bytes).enumerate().try_for_each_init(
            || vec![0.0; cols],
            |values, (row, out)| {
                part.decode_row(row / num_rows, row % num_rows, values)?;
                quant::encode_row_fast(target, values, out).map_err(named)
            },
        )?;
        WeightPart::experts(part.name(), target, experts, num_rows, cols, bytes.into())
    }
}

impl fmt::Display for Requantize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Requantize {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        Self::ALL.into_iter().find(|choice| choice.name().eq_ignore_ascii_case(text)).ok_or_else(
            || ModelError::UnknownRequantize {
                found: text.to_owned(),
                known: Self::ALL.map(Self::name),
            },
        )
    }
}
