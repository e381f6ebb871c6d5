//! Quantization formats of whole files.

use std::fmt;
use std::str::FromStr;

use inferno_tensor::DType;

use crate::{Error, QuantizeError};

/// A quantization format of a whole file: the format of most weights, and which weights get a higher-precision one.
///
/// **Source**: names and numbers are the file types of llama.cpp, except [`Recipe::Int8`]: the format of
/// `--requantize int8`, for every matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The variants are the names of the table below.
pub enum Recipe {
    F32,
    F16,
    Bf16,
    Q8_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q2K,
    Q2KS,
    Q3KS,
    Q3KM,
    Q3KL,
    Q4KS,
    Q4KM,
    Q5KS,
    Q5KM,
    Q6K,
    Iq4Nl,
    Iq4Xs,
    Iq1S,
    Iq1M,
    Iq2Xxs,
    Iq2Xs,
    Iq2S,
    Iq2M,
    Iq3Xxs,
    Iq3Xs,
    Iq3S,
    Iq3M,
    Nvfp4,
    Tq1_0,
    Tq2_0,
    Q1_0,
    Int8,
}

/// Recipe, name, format of most weights, value of `general.file_type`.
const RECIPES: [(Recipe, &str, DType, u32); 35] = [
    (Recipe::F32, "f32", DType::F32, 0),
    (Recipe::F16, "f16", DType::F16, 1),
    (Recipe::Bf16, "bf16", DType::BF16, 32),
    (Recipe::Q8_0, "q8_0", DType::Q8_0, 7),
    (Recipe::Q4_0, "q4_0", DType::Q4_0, 2),
    (Recipe::Q4_1, "q4_1", DType::Q4_1, 3),
    (Recipe::Q5_0, "q5_0", DType::Q5_0, 8),
    (Recipe::Q5_1, "q5_1", DType::Q5_1, 9),
    (Recipe::Q2K, "q2_k", DType::Q2K, 10),
    (Recipe::Q2KS, "q2_k_s", DType::Q2K, 21),
    (Recipe::Q3KS, "q3_k_s", DType::Q3K, 11),
    (Recipe::Q3KM, "q3_k_m", DType::Q3K, 12),
    (Recipe::Q3KL, "q3_k_l", DType::Q3K, 13),
    (Recipe::Q4KS, "q4_k_s", DType::Q4K, 14),
    (Recipe::Q4KM, "q4_k_m", DType::Q4K, 15),
    (Recipe::Q5KS, "q5_k_s", DType::Q5K, 16),
    (Recipe::Q5KM, "q5_k_m", DType::Q5K, 17),
    (Recipe::Q6K, "q6_k", DType::Q6K, 18),
    (Recipe::Iq4Nl, "iq4_nl", DType::Iq4Nl, 25),
    (Recipe::Iq4Xs, "iq4_xs", DType::Iq4Xs, 30),
    (Recipe::Iq1S, "iq1_s", DType::Iq1S, 24),
    (Recipe::Iq1M, "iq1_m", DType::Iq1M, 31),
    (Recipe::Iq2Xxs, "iq2_xxs", DType::Iq2Xxs, 19),
    (Recipe::Iq2Xs, "iq2_xs", DType::Iq2Xs, 20),
    (Recipe::Iq2S, "iq2_s", DType::Iq2Xs, 28),
    (Recipe::Iq2M, "iq2_m", DType::Iq2S, 29),
    (Recipe::Iq3Xxs, "iq3_xxs", DType::Iq3Xxs, 23),
    (Recipe::Iq3Xs, "iq3_xs", DType::Iq3S, 22),
    (Recipe::Iq3S, "iq3_s", DType::Iq3S, 26),
    (Recipe::Iq3M, "iq3_m", DType::Iq3S, 27),
    (Recipe::Nvfp4, "nvfp4", DType::Nvfp4, 39),
    (Recipe::Tq1_0, "tq1_0", DType::Tq1_0, 36),
    (Recipe::Tq2_0, "tq2_0", DType::Tq2_0, 37),
    (Recipe::Q1_0, "q1_0", DType::Q1_0, 40),
    // Not a file type of llama.cpp, whose numbers are consecutive.
    (Recipe::Int8, "int8", DType::Int8, 1000),
];

/// Aliases, each for the medium variant of its family.
const ALIASES: [(&str, Recipe); 3] =
    [("q3_k", Recipe::Q3KM), ("q4_k", Recipe::Q4KM), ("q5_k", Recipe::Q5KM)];

impl Recipe {
    /// Returns the name on the command line, such as `q4_k_m`.
    pub fn name(self) -> &'static str {
        RECIPES[self as usize].1
    }

    /// Returns the format of most weights.
    pub fn base(self) -> DType {
        RECIPES[self as usize].2
    }

    /// Returns the value of `general.file_type`.
    pub fn file_type(self) -> u32 {
        RECIPES[self as usize].3
    }

    /// Returns whether most weights get a format that needs an importance matrix.
    pub fn needs_importance(self) -> bool {
        self.base().needs_importance()
    }

    /// Returns whether the format of most weights uses an importance matrix.
    pub fn uses_importance(self) -> bool {
        self.base().uses_importance()
    }

    /// Returns all names, including the aliases.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let names = RECIPES.iter().map(|(_, name, _, _)| *name);
        names.chain(ALIASES.iter().map(|(name, _)| *name))
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Recipe {
    type Err = Error;

    /// Parses a name in upper or lower case; `q3_k`, `q4_k` and `q5_k` mean `q3_k_m`, `q4_k_m` and `q5_k_m`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let names = RECIPES.iter().map(|(recipe, name, _, _)| (*name, *recipe));
        names
            .chain(ALIASES)
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|(_, recipe)| recipe)
            .ok_or_else(|| Error::Quantize(QuantizeError::UnknownRecipe { found: text.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_match_the_order_of_the_table() {
        for (index, (recipe, name, _, _)) in RECIPES.into_iter().enumerate() {
            assert_eq!(recipe as usize, index);
            assert_eq!(name.to_uppercase().parse::<Recipe>().unwrap(), recipe);
        }
    }

    #[test]
    fn unknown_names_are_rejected() {
        let error = "q9_k".parse::<Recipe>().unwrap_err();
        assert!(matches!(error, Error::Quantize(QuantizeError::UnknownRecipe { .. })), "{error}");
    }
}
