//! How far the distributions of one model are from those of another: of a quantized model from the original, for example.
//!
//! The rules are those of llama.cpp's `perplexity --kl-divergence`, and base models may be replaced by the files that it
//! writes: the text is cut into adjacent windows, whose first token is replaced by BOS if the vocabulary adds one, and the
//! second half of each window is compared.

mod base_rows;
mod statistics;
mod stored_logits;
mod text_windows;

use std::io::Write;

use crate::perplexity::windows::{WindowRunner, check_windows, scored};
use crate::sampler::Softmax;
use crate::{EngineError, Perplexity, Runner};
use base_rows::BaseRows;

pub use base_rows::KlBase;
pub use statistics::{Distribution, Estimate, KlDivergence};
pub use stored_logits::{StoredLogits, StoredLogitsError};
pub use text_windows::TextWindows;

/// Computes `text` with `runner` and compares each distribution with that of `base`. Calls `on_window` with the number of
/// windows so far after each of them. Neither model holds more rows of logits than one of its batches.
///
/// **Errors**: [`EngineError::Window`], [`EngineError::TextTooShort`], [`EngineError::TokenOutOfRange`],
/// [`EngineError::VocabularySize`] if the distributions are over vocabularies of different sizes,
/// [`EngineError::NonFiniteLogit`], a runner that fails, a file that cannot be read.
pub fn kl_divergence(
    runner: &mut dyn Runner,
    base: KlBase<'_>,
    text: &TextWindows,
    on_window: &mut dyn FnMut(usize),
) -> Result<KlDivergence, EngineError> {
    check_windows(runner, text.tokens(), text.window(), text.window())?;
    let vocab_size = runner.vocab_size();
    let mut base = BaseRows::new(base, text, vocab_size)?;
    let mut forward = WindowRunner::new(runner);
    let mut result = KlDivergence::new(base.lowest());
    for (index, window) in text.windows().enumerate() {
        base.begin(&window)?;
        forward.begin(&window)?;
        let mut successors = scored(&window).iter();
        while let Some(output) = forward.next_rows()? {
            for (row, &next) in output.rows().zip(&mut successors) {
                result.add(base.next_row()?, &row.values()?, next)?;
            }
        }
        on_window(index + 1);
    }
    Ok(result)
}

/// Computes `text` with `runner` and writes its distributions in llama.cpp's format, to compare other models with. Calls
/// `on_window` with the result so far after each window.
///
/// **Errors**: as [`kl_divergence`]; [`EngineError::StoredLogits`] if `output` cannot be written.
pub fn store_logits(
    runner: &mut dyn Runner,
    text: &TextWindows,
    output: &mut dyn Write,
    on_window: &mut dyn FnMut(&Perplexity),
) -> Result<Perplexity, EngineError> {
    check_windows(runner, text.tokens(), text.window(), text.window())?;
    let mut writer = stored_logits::Writer::begin(output, text, runner.vocab_size())?;
    let mut forward = WindowRunner::new(runner);
    let mut result = Perplexity::of_windows(text.num_windows());
    for window in text.windows() {
        forward.begin(&window)?;
        let mut successors = scored(&window).iter();
        while let Some(output) = forward.next_rows()? {
            for (row, &next) in output.rows().zip(&mut successors) {
                let row = row.values()?;
                let softmax = Softmax::of_finite(&row)?;
                writer.add(&row, &softmax)?;
                result.add(-softmax.log_probability(row[next as usize]));
            }
        }
        result.num_windows += 1;
        on_window(&result);
    }
    writer.finish()?;
    Ok(result)
}
