//! The codebooks of the IQ1, IQ2 and IQ3 formats, in one buffer.

use inferno_tensor::DType;
use inferno_tensor::quant::{
    CodebookBlock, Iq1SBlock, Iq2SBlock, Iq2XsBlock, Iq2XxsBlock, Iq3SBlock, Iq3XxsBlock,
};

/// The elements of all vectors of each codebook, and a format that uses it.
const CODEBOOKS: [(DType, &[[u8; 4]]); 6] = [
    (DType::Iq1S, Iq1SBlock::CODEBOOK),
    (DType::Iq2Xxs, Iq2XxsBlock::CODEBOOK),
    (DType::Iq2Xs, Iq2XsBlock::CODEBOOK),
    (DType::Iq2S, Iq2SBlock::CODEBOOK),
    (DType::Iq3Xxs, Iq3XxsBlock::CODEBOOK),
    (DType::Iq3S, Iq3SBlock::CODEBOOK),
];

/// All codebooks, four elements per word.
pub(crate) fn codebook_words() -> Vec<u32> {
    let words = CODEBOOKS.iter().flat_map(|(_, words)| words.iter());
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

/// The first word of the codebook of `dtype`, which may be that of another format.
pub(super) fn codebook_start(dtype: DType) -> usize {
    let owner = if dtype == DType::Iq1M { DType::Iq1S } else { dtype };
    CODEBOOKS.iter().take_while(|(known, _)| *known != owner).map(|(_, words)| words.len()).sum()
}
