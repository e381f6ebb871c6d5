//! Statistics of a tensor's values.

use std::fmt;

use inferno_gguf::Gguf;
use inferno_model::{ModelError, TensorCache};
use serde_json::{Value, json};

/// Decoded tensors are kept up to this size, for names that are asked for again.
const CACHE_BYTES: usize = 256 << 20;

const NUM_FIRST: usize = 8;

/// Reads tensors for their statistics.
pub(super) struct TensorValues<'a> {
    gguf: &'a Gguf,
    cache: TensorCache<'a>,
}

/// What is said about one tensor.
pub(super) struct Statistics {
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

impl<'a> TensorValues<'a> {
    pub(super) fn new(gguf: &'a Gguf) -> Self {
        Self {
            gguf,
            cache: TensorCache::new(gguf, CACHE_BYTES),
        }
    }

    /// Decodes the tensor and counts; values that are not finite are counted apart.
    pub(super) fn statistics(&mut self, name: &str) -> Result<Statistics, ModelError> {
        let tensor = self.cache.get(name)?;
        let values = tensor.as_slice();
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let num_finite = finite().count();
        let mean = finite().map(f64::from).sum::<f64>() / num_finite as f64;
        let variance = finite()
            .map(|value| (f64::from(value) - mean).powi(2))
            .sum::<f64>()
            / num_finite as f64;
        Ok(Statistics {
            name: name.to_owned(),
            stored_as: self
                .gguf
                .tensor(name)
                .map_or("", |info| info.ggml_type().name()),
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

impl Statistics {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.stored_as,
            "shape": self.shape,
            "values": self.num_values,
            "non_finite": self.num_non_finite,
            "min": self.min,
            "max": self.max,
            "mean": self.mean,
            "standard_deviation": self.standard_deviation,
            "first": self.first,
        })
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name.escape_debug())?;
        writeln!(
            f,
            "  stored as           {} {:?}, {} values",
            self.stored_as, self.shape, self.num_values
        )?;
        writeln!(f, "  min, max            {:e}, {:e}", self.min, self.max)?;
        writeln!(f, "  mean                {:e}", self.mean)?;
        writeln!(f, "  standard deviation  {:e}", self.standard_deviation)?;
        if self.num_non_finite > 0 {
            writeln!(f, "  not finite          {} values", self.num_non_finite)?;
        }
        write!(f, "  first values        {:?}", self.first)
    }
}
