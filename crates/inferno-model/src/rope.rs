//! Rotary frequencies: the geometric series of RoFormer and its scalings.
//!
//! Backends only rotate pairs by given cosines and sines. These are computed here, once per forward
//! pass and in `f64`, so that every device and every context length uses the same angles.

use inferno_backend::RopePairing;

use crate::config::{RopeConfig, RopeScaling, YarnParams};

/// The scaled frequencies of one model.
#[derive(Debug, Clone)]
pub(crate) struct RotaryFrequencies {
    pub(crate) pairing: RopePairing,
    inv_freqs: Vec<f64>,
    /// Factor on cosines and sines: YaRN's attention temperature.
    amplitude: f64,
}

impl RotaryFrequencies {
    /// `factors`, one per frequency, are divisors: how files store Llama 3's scaling (`rope_freqs`).
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
            RopeScaling::Yarn(yarn) => amplitude = apply_yarn(&yarn, dim, base, &mut inv_freqs),
        }
        for (freq, &factor) in inv_freqs.iter_mut().zip(factors.unwrap_or_default()) {
            *freq /= f64::from(factor);
        }
        Self { pairing, inv_freqs, amplitude }
    }

    /// Writes one row of cosines, then sines, per position, as `Backend::rope` reads them.
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

/// Scales `inv_freqs` and returns the amplitude of cosines and sines.
fn apply_yarn(yarn: &YarnParams, dim: f64, base: f64, inv_freqs: &mut [f64]) -> f64 {
    // The index of the frequency with this many rotations over the original context.
    let index_of = |rotations: f32| {
        let wavelengths = yarn.original_context_length as f64
            / (f64::from(rotations) * 2.0 * std::f64::consts::PI);
        dim * libm::log(wavelengths) / (2.0 * libm::log(base))
    };
    let low = index_of(yarn.beta_fast).floor().max(0.0);
    let high = index_of(yarn.beta_slow).ceil().min(dim - 1.0);
    let width = (high - low).max(0.001);
    let factor = f64::from(yarn.factor);
    for (i, freq) in inv_freqs.iter_mut().enumerate() {
        let interpolated = ((i as f64 - low) / width).clamp(0.0, 1.0);
        *freq *= 1.0 - interpolated + interpolated / factor;
    }
    let temperature = if factor > 1.0 { 0.1 * libm::log(factor) + 1.0 } else { 1.0 };
    temperature * f64::from(yarn.attention_factor)
}
