//! The elements of the vectors of each codebook, four per word.

use super::packed_codebooks;

/// The levels of the ternary codebook: -1, 0 and 1, increased by one and multiplied by 8.
const TERNARY_LEVELS: [u8; 3] = [0, 8, 16];
const IQ2_LEVELS: [u8; 3] = [8, 25, 43];
const IQ3_XXS_LEVELS: [u8; 8] = [4, 12, 20, 28, 36, 44, 52, 62];
const IQ3_S_LEVELS: [u8; 8] = [1, 3, 5, 7, 9, 11, 13, 15];

pub(super) static IQ1: [[u8; 4]; 4096] =
    words::<2, 2048, 4096>(&packed_codebooks::IQ1, &TERNARY_LEVELS);
pub(super) static IQ2_XXS: [[u8; 4]; 512] =
    words::<2, 256, 512>(&packed_codebooks::IQ2_XXS, &IQ2_LEVELS);
pub(super) static IQ2_XS: [[u8; 4]; 1024] =
    words::<2, 512, 1024>(&packed_codebooks::IQ2_XS, &IQ2_LEVELS);
pub(super) static IQ2_S: [[u8; 4]; 2048] =
    words::<2, 1024, 2048>(&packed_codebooks::IQ2_S, &IQ2_LEVELS);
pub(super) static IQ3_XXS: [[u8; 4]; 256] =
    words::<4, 256, 256>(&packed_codebooks::IQ3_XXS, &IQ3_XXS_LEVELS);
pub(super) static IQ3_S: [[u8; 4]; 512] =
    words::<4, 512, 512>(&packed_codebooks::IQ3_S, &IQ3_S_LEVELS);

/// Replaces the fields of `BITS` bits of all vectors by their levels.
const fn words<const BITS: usize, const VECTORS: usize, const WORDS: usize>(
    vectors: &[u16; VECTORS],
    levels: &[u8],
) -> [[u8; 4]; WORDS] {
    assert!(WORDS * BITS == VECTORS * 4, "an entry has 16 bits");
    let mut words = [[0; 4]; WORDS];
    let mut element = 0;
    while element < 4 * WORDS {
        let elements_per_vector = 16 / BITS;
        let shift = element % elements_per_vector * BITS;
        let level = vectors[element / elements_per_vector] >> shift & ((1 << BITS) - 1);
        words[element / 4][element % 4] = levels[level as usize];
        element += 1;
    }
    words
}
