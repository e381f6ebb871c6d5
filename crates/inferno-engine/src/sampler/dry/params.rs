//! Parameters of the DRY penalty.

use std::fmt;

use crate::EngineError;
use crate::error::check_list;
use crate::sampler::params::check;

/// Maximum number of sequence breakers in a request.
const MAX_SEQUENCE_BREAKERS: usize = 32;

/// Maximum length of a sequence breaker, in bytes. llama.cpp cuts off the rest.
const MAX_SEQUENCE_BREAKER_BYTES: usize = 40;

/// Up to this base, the exponent is not limited.
const MAX_UNLIMITED_BASE: f32 = 1.000_001;

/// Natural logarithm of the largest `f32`, rounded as in llama.cpp.
const MAX_LOG: f32 = 88.722_84;

/// Parameters of the DRY ("don't repeat yourself") penalty, with llama.cpp's names and defaults.
///
/// A token that would extend a repetition of `length` tokens, `length >= allowed_length`, loses
/// `multiplier * base.powi(length - allowed_length)` of its logit.
#[derive(Debug, Clone, PartialEq)]
pub struct DryParams {
    /// Factor of the penalty; 0 disables it.
    pub multiplier: f32,
    /// Growth of the penalty with each repeated token, at least 1.
    pub base: f32,
    /// Repetitions of fewer tokens are not penalized.
    pub allowed_length: usize,
    /// Number of last tokens of prompt and output in which repetitions are searched; `None` for all, 0 disables the
    /// penalty.
    pub penalty_last_n: Option<usize>,
    /// Strings that no repetition extends across. Tokens that contain one are never penalized. Empty strings are ignored.
    pub sequence_breakers: Vec<String>,
}

impl Default for DryParams {
    fn default() -> Self {
        Self {
            multiplier: 0.0,
            base: 1.75,
            allowed_length: 2,
            penalty_last_n: None,
            sequence_breakers: ["\n", ":", "\"", "*"].map(str::to_owned).to_vec(),
        }
    }
}

impl DryParams {
    /// Whether any token may be penalized.
    pub fn is_enabled(&self) -> bool {
        self.multiplier != 0.0 && self.penalty_last_n != Some(0)
    }

    /// Checks every field against its range.
    pub(in crate::sampler) fn validate(&self) -> Result<(), EngineError> {
        check("dry_multiplier", self.multiplier, "0 or more", 0.0..=f32::MAX)?;
        check("dry_base", self.base, "1 or more", 1.0..=f32::MAX)?;
        let breakers = &self.sequence_breakers;
        check_list("dry_sequence_breakers", "strings", breakers.len(), MAX_SEQUENCE_BREAKERS)?;
        let longest = breakers.iter().map(String::len).max().unwrap_or(0);
        let (field, unit) = ("dry_sequence_breakers", "bytes in a string");
        check_list(field, unit, longest, MAX_SEQUENCE_BREAKER_BYTES)
    }

    /// The penalty of a token that would extend a repetition of `length` tokens, at least `allowed_length`.
    pub(super) fn penalty(&self, length: usize) -> f32 {
        let mut exponent = (length - self.allowed_length) as f64;
        if self.base > MAX_UNLIMITED_BASE {
            let largest = (MAX_LOG / libm::logf(self.base)).trunc().max(1.0);
            exponent = exponent.min(f64::from(largest));
        }
        (f64::from(self.multiplier) * libm::pow(f64::from(self.base), exponent)) as f32
    }
}

impl fmt::Display for DryParams {
    /// Formats the parameters that differ from their defaults, and nothing if the penalty is disabled.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        if !self.is_enabled() {
            return Ok(());
        }
        write!(f, "dry_multiplier {}", self.multiplier)?;
        if self.base != default.base {
            write!(f, ", dry_base {}", self.base)?;
        }
        if self.allowed_length != default.allowed_length {
            write!(f, ", dry_allowed_length {}", self.allowed_length)?;
        }
        if let Some(count) = self.penalty_last_n {
            write!(f, ", dry_penalty_last_n {count}")?;
        }
        if self.sequence_breakers != default.sequence_breakers {
            write!(f, ", dry_sequence_breakers {:?}", self.sequence_breakers)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn penalties_grow_exponentially_and_stay_finite_for_llama_cpp_s_defaults() {
        let params =
            DryParams { multiplier: 0.5, base: 2.0, allowed_length: 3, ..Default::default() };
        assert_eq!([3, 4, 5, 6].map(|length| params.penalty(length)), [0.5, 1.0, 2.0, 4.0]);
        let default = DryParams { multiplier: 0.8, ..Default::default() };
        assert!(default.penalty(100_000).is_finite());
        assert_eq!(default.penalty(100_000), default.penalty(2 + 158));
        let constant = DryParams { multiplier: 0.8, base: 1.0, ..Default::default() };
        assert_eq!(constant.penalty(100_000), 0.8);
    }

    #[test]
    fn a_parameter_out_of_range_is_rejected_by_name() {
        let enabled = || DryParams { multiplier: 0.8, ..Default::default() };
        for (params, message) in [
            (
                DryParams { multiplier: -0.5, ..enabled() },
                "dry_multiplier must be 0 or more, but is -0.5",
            ),
            (DryParams { base: 0.5, ..enabled() }, "dry_base must be 1 or more, but is 0.5"),
            (
                DryParams { sequence_breakers: vec![String::new(); 33], ..enabled() },
                "dry_sequence_breakers has 33 strings, but 32 is the most",
            ),
            (
                DryParams { sequence_breakers: vec!["-".repeat(41)], ..enabled() },
                "dry_sequence_breakers has 41 bytes in a string, but 40 is the most",
            ),
        ] {
            let error = params.validate().expect_err("it is out of range");
            assert_eq!(error.to_string(), message);
        }
    }
}
