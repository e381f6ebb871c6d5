//! Statistics of the values of a tensor.

use std::fmt;

use inferno_gguf::Gguf;
use inferno_model::{ModelError, TensorCache};
use serde_json::{Value, json};

use super::json::float;
use crate::cli::terminal::printable::printable;

/// Size of the cache of decoded tensors, for names that are requested again.
const CACHE_BYTES: usize = 256 << 20;

const NUM_FIRST: usize = 8;

/// Decodes tensors and computes their statistics.
pub(super) struct TensorReader<'a> {
    gguf: &'a Gguf,
    cache: TensorCache<'a>,
}

/// Statistics of one tensor.
pub(super) struct TensorStatistics {
    name: String,
    stored_as: &'static str,
    shape: Vec<usize>,
    num_values: usize,
    num_non_finite: usize,
    min: f32,
    max: f32,
    mean: f64,
    standard_deviation: f64,
    first: Vec<f32>,
}

impl<'a> TensorReader<'a> {
    pub(super) fn new(gguf: &'a Gguf) -> Self {
        Self { gguf, cache: TensorCache::new(gguf, CACHE_BYTES) }
    }

    /// Returns the statistics of the finite values of a tensor, and the number of others.
    pub(super) fn statistics(&mut self, name: &str) -> Result<TensorStatistics, ModelError> {
        let tensor = self.cache.get(name)?;
        let values = tensor.as_slice();
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let num_finite = finite().count();
        let mean = finite().map(f64::from).sum::<f64>() / num_finite as f64;
        let variance = finite().map(|value| (f64::from(value) - mean).powi(2)).sum::<f64>()
            / num_finite as f64;
        Ok(TensorStatistics {
            name: name.to_owned(),
            stored_as: self.gguf.tensor(name).map_or("", |info| info.ggml_type().name()),
            shape: tensor.shape().dims().to_vec(),
            num_values: values.len(),
            num_non_finite: values.len() - num_finite,
            min: finite().fold(f32::INFINITY, f32::min),
            max: finite().fold(f32::NEG_INFINITY, f32::max),
            mean,
            standard_deviation: variance.sqrt(),
            first: values.iter().copied().take(NUM_FIRST).collect(),
        })
    }
}

impl TensorStatistics {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.stored_as,
            "shape": self.shape,
            "values": self.num_values,
            "non_finite": self.num_non_finite,
            "min": float(self.min),
            "max": float(self.max),
            "mean": self.mean,
            "standard_deviation": self.standard_deviation,
            "first": self.first.iter().copied().map(float).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for TensorStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", printable(&self.name))?;
        writeln!(
            f,
            "  stored as           {} {:?}, {} values",
            self.stored_as, self.shape, self.num_values
        )?;
        let (min, max) = (decimal(self.min.into()), decimal(self.max.into()));
        writeln!(f, "  min, max            {min}, {max}")?;
        writeln!(f, "  mean                {}", decimal(self.mean))?;
        let standard_deviation = decimal(self.standard_deviation);
        writeln!(f, "  standard deviation  {standard_deviation}")?;
        if self.num_non_finite > 0 {
            writeln!(f, "  not finite          {} values", self.num_non_finite)?;
        }
        let first: Vec<String> = self.first.iter().map(|&v| decimal(v.into())).collect();
        write!(f, "  first values        {}", first.join(", "))
    }
}

/// Formats a number with six digits, in scientific notation if it is very large or small.
fn decimal(value: f64) -> String {
    const NUM_DIGITS: i32 = 6;
    let magnitude = value.abs().log10().floor();
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if !(-5.0..f64::from(NUM_DIGITS)).contains(&magnitude) {
        return format!("{value:.5e}");
    }
    let decimals = NUM_DIGITS - 1 - magnitude as i32;
    let text = format!("{value:.*}", decimals as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_significant_digits() {
        for (value, expected) in [
            (-1.5936817, "-1.59368"),
            (0.236_027_29, "0.236027"),
            (0.000_012_345_678, "0.0000123457"),
            (1.0, "1"),
            (1500.0, "1500"),
            (123_456.7, "123457"),
            (0.0, "0"),
            (1e-20, "1.00000e-20"),
            (2.5e9, "2.50000e9"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(decimal(value), expected);
        }
    }
}
