//! Rotary frequencies: the geometric series of RoFormer and its scalings.
//!
//! Backends only rotate pairs by given cosines and sines. These are computed here, once per forward
//! pass and in `f64`, so that every device and every context length uses the same angles.

use inferno_backend::{Backend, RopePairing};

use crate::ModelError;
use crate::loader::Loader;
use crate::spec::{RopeScaling, RotaryFactors, RotarySpec, TemperatureSpec, YarnParams};

/// The scaled frequencies of one rotary embedding.
#[derive(Debug, Clone)]
pub(crate) struct RotaryFrequencies {
    pub(crate) pairing: RopePairing,
    inv_freqs: Vec<f64>,
    /// The frequencies for contexts longer than this.
    long: Option<(usize, Vec<f64>)>,
    /// Factor on cosines and sines: YaRN's attention temperature.
    amplitude: f64,
}

impl RotaryFrequencies {
    pub(crate) fn load<B: Backend>(
        loader: &mut Loader<'_, B>,
        spec: &RotarySpec,
    ) -> Result<Self, ModelError> {
        let dim = spec.rotary_dim as f64;
        let base = f64::from(spec.freq_base);
        let mut inv_freqs: Vec<f64> =
            (0..spec.rotary_dim / 2).map(|i| libm::pow(base, -2.0 * i as f64 / dim)).collect();
        let mut amplitude = spec.amplitude;
        match spec.scaling {
            RopeScaling::None => {}
            RopeScaling::Linear { factor } => {
                inv_freqs.iter_mut().for_each(|freq| *freq /= f64::from(factor));
            }
            RopeScaling::Yarn(yarn) => {
                apply_yarn(&yarn, dim, base, &mut inv_freqs);
                amplitude *= yarn.amplitude;
            }
        }
        let mut long = None;
        match &spec.factors {
            RotaryFactors::None => {}
            RotaryFactors::Fixed(factors) => divide(&mut inv_freqs, &loader.values(factors)?),
            RotaryFactors::ByContext { short, long: factors, original_context_length } => {
                let mut long_freqs = inv_freqs.clone();
                divide(&mut long_freqs, &loader.values(factors)?);
                long = Some((*original_context_length, long_freqs));
                divide(&mut inv_freqs, &loader.values(short)?);
            }
        }
        Ok(Self { pairing: spec.pairing, inv_freqs, long, amplitude })
    }

    /// The frequencies for long contexts, if sequences of up to `context_length` tokens use them.
    pub(crate) fn long_freqs(&self, context_length: usize) -> Option<&[f64]> {
        let (original, inv_freqs) = self.long.as_ref()?;
        (context_length > *original).then_some(inv_freqs)
    }

    /// Writes one row of cosines, then sines, per position, as `Backend::rope` reads them, for
    /// sequences of up to `context_length` tokens.
    pub(crate) fn angles(&self, positions: &[u32], context_length: usize, angles: &mut Vec<f32>) {
        let inv_freqs = self.long_freqs(context_length).unwrap_or(&self.inv_freqs);
        let pairs = inv_freqs.len();
        angles.clear();
        angles.resize(positions.len() * 2 * pairs, 0.0);
        for (row, &position) in angles.chunks_exact_mut((2 * pairs).max(1)).zip(positions) {
            let (cosines, sines) = row.split_at_mut(pairs);
            for ((cos, sin), freq) in cosines.iter_mut().zip(sines).zip(inv_freqs) {
                let (s, c) = libm::sincos(f64::from(position) * freq);
                *cos = (c * self.amplitude) as f32;
                *sin = (s * self.amplitude) as f32;
            }
        }
    }
}

fn divide(inv_freqs: &mut [f64], factors: &[f32]) {
    for (freq, &factor) in inv_freqs.iter_mut().zip(factors) {
        *freq /= f64::from(factor);
    }
}

/// Writes the factor on the queries of each position.
pub(crate) fn query_factors(spec: TemperatureSpec, positions: &[u32], factors: &mut Vec<f32>) {
    let original = spec.original_context_length.max(1) as u64;
    factors.clear();
    factors.extend(positions.iter().map(|&position| {
        let steps = (u64::from(position) + spec.offset as u64) / original;
        (1.0 + f64::from(spec.scale) * libm::log1p(steps as f64)) as f32
    }));
}

/// Scales `inv_freqs`.
fn apply_yarn(yarn: &YarnParams, dim: f64, base: f64, inv_freqs: &mut [f64]) {
    // The index of the frequency with this many rotations over the original context.
    let index_of = |rotations: f32| {
        let wavelengths = yarn.original_context_length as f64
            / (f64::from(rotations) * 2.0 * std::f64::consts::PI);
        dim * libm::log(wavelengths) / (2.0 * libm::log(base))
    };
    let (mut low, mut high) = (index_of(yarn.beta_fast), index_of(yarn.beta_slow));
    if yarn.rounds_ramp {
        (low, high) = (low.floor(), high.ceil());
    }
    let (low, high) = (low.max(0.0), high.min(dim - 1.0));
    let width = (high - low).max(0.001);
    let factor = f64::from(yarn.factor);
    for (i, freq) in inv_freqs.iter_mut().enumerate() {
        let interpolated = ((i as f64 - low) / width).clamp(0.0, 1.0);
        *freq *= 1.0 - interpolated + interpolated / factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frequencies 8 to 18 of gpt-oss. The kinds differ in all but the first and the last.
    ///
    /// **Source**: `_compute_yarn_parameters` of transformers 5.24, for heads of 64 components.
    const ROUNDED: [f64; 11] = [
        5.081_327_3e-2,
        3.162_075_2e-2,
        1.945_096_6e-2,
        1.179_219_1e-2,
        7.015_714e-3,
        4.069_554_6e-3,
        2.277_272e-3,
        1.206_131e-3,
        5.809_475e-4,
        2.279_478_4e-4,
        3.830_881_2e-5,
    ];
    const UNROUNDED: [f64; 11] = [
        5.081_327_3e-2,
        3.170_569_6e-2,
        1.933_5e-2,
        1.159_204_9e-2,
        6.794_959_3e-3,
        3.860_359e-3,
        2.093_792_7e-3,
        1.052_602_2e-3,
        4.564_839e-4,
        1.293_187e-4,
        3.830_881_2e-5,
    ];

    #[test]
    fn the_ends_of_the_ramp_are_rounded_unless_the_model_is_trained_without() {
        let (dim, base) = (64.0, 150_000.0);
        for (rounds_ramp, expected) in [(true, ROUNDED), (false, UNROUNDED)] {
            let yarn = YarnParams {
                factor: 32.0,
                original_context_length: 4096,
                amplitude: 1.0,
                beta_fast: 32.0,
                beta_slow: 1.0,
                rounds_ramp,
            };
            let mut freqs: Vec<f64> =
                (0..32).map(|i| libm::pow(base, -2.0 * f64::from(i) / dim)).collect();
            apply_yarn(&yarn, dim, base, &mut freqs);
            for (found, expected) in freqs[8..].iter().zip(expected) {
                // The reference computes in single precision.
                assert!((found / expected - 1.0).abs() < 1e-5, "{found}, expected {expected}");
            }
        }
    }
}
