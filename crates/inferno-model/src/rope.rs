//! Rotary frequencies: the geometric series of RoFormer, and the ways to stretch it.
//!
//! A backend only turns pairs by given cosines and sines. They are computed here, once a step and
//! in `f64`, so that every device and every length of context sees the same angles.

use inferno_backend::RopePairing;

use crate::config::RopeConfig;

/// How rotary frequencies are adapted to contexts longer than those of training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RopeScaling {
    /// As trained.
    None,
    /// Every position divided by `factor`.
    ///
    /// **Source**: Chen et al., Extending Context Window of LLMs via Positional Interpolation.
    Linear {
        /// The divisor.
        factor: f32,
    },
    /// Low frequencies interpolated, high ones kept, a ramp between.
    Yarn(YarnParams),
}

/// **Source**: Peng et al., YaRN: Efficient Context Window Extension of LLMs, section 3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YarnParams {
    /// How many times longer the context has become.
    pub factor: f32,
    /// Context of training, in tokens.
    pub original_context_length: usize,
    /// Further factor on the attention temperature that follows from `factor`.
    pub attention_factor: f32,
    /// Turns over the original context from which a frequency is kept as it is.
    pub beta_fast: f32,
    /// Turns over the original context up to which a frequency is fully interpolated.
    pub beta_slow: f32,
}

/// Ready frequencies of one model.
#[derive(Debug, Clone)]
pub(crate) struct Rope {
    pub(crate) pairing: RopePairing,
    inv_freqs: Vec<f64>,
    /// Factor on cosines and sines, by which YaRN sharpens attention.
    amplitude: f64,
}

impl Rope {
    /// `factors`, one a frequency, divide it: how files carry Llama 3's scaling (`rope_freqs`).
    pub(crate) fn new(pairing: RopePairing, config: &RopeConfig, factors: Option<&[f32]>) -> Self {
        let dim = config.rotary_dim as f64;
        let base = f64::from(config.freq_base);
        let mut inv_freqs: Vec<f64> =
            (0..config.rotary_dim / 2).map(|i| libm::pow(base, -2.0 * i as f64 / dim)).collect();
        let mut amplitude = 1.0;
        match config.scaling {
            RopeScaling::None => {}
            RopeScaling::Linear { factor } => {
                inv_freqs.iter_mut().for_each(|freq| *freq /= f64::from(factor));
            }
            RopeScaling::Yarn(yarn) => amplitude = yarn.apply(dim, base, &mut inv_freqs),
        }
        for (freq, &factor) in inv_freqs.iter_mut().zip(factors.unwrap_or_default()) {
            *freq /= f64::from(factor);
        }
        Self { pairing, inv_freqs, amplitude }
    }

    /// For each position a row of cosines, then sines, as `Backend::rope` reads them.
    pub(crate) fn angles(&self, positions: &[u32], angles: &mut Vec<f32>) {
        let pairs = self.inv_freqs.len();
        angles.clear();
        angles.resize(positions.len() * 2 * pairs, 0.0);
        for (row, &position) in angles.chunks_exact_mut(2 * pairs).zip(positions) {
            let (cosines, sines) = row.split_at_mut(pairs);
            for ((cos, sin), freq) in cosines.iter_mut().zip(sines).zip(&self.inv_freqs) {
                let (s, c) = libm::sincos(f64::from(position) * freq);
                *cos = (c * self.amplitude) as f32;
                *sin = (s * self.amplitude) as f32;
            }
        }
    }
}

impl YarnParams {
    /// Adapts `inv_freqs` and gives the amplitude of cosines and sines.
    fn apply(&self, dim: f64, base: f64, inv_freqs: &mut [f64]) -> f64 {
        // The index of the frequency that makes `turns` turns over the original context.
        let index_of = |turns: f32| {
            let wavelengths = self.original_context_length as f64
                / (f64::from(turns) * 2.0 * std::f64::consts::PI);
            dim * libm::log(wavelengths) / (2.0 * libm::log(base))
        };
        let low = index_of(self.beta_fast).floor().max(0.0);
        let high = index_of(self.beta_slow).ceil().min(dim - 1.0);
        let width = (high - low).max(0.001);
        let factor = f64::from(self.factor);
        for (i, freq) in inv_freqs.iter_mut().enumerate() {
            let interpolated = ((i as f64 - low) / width).clamp(0.0, 1.0);
            *freq *= 1.0 - interpolated + interpolated / factor;
        }
        let temperature = if factor > 1.0 { 0.1 * libm::log(factor) + 1.0 } else { 1.0 };
        temperature * f64::from(self.attention_factor)
    }
}
