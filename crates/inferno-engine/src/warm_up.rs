//! Passes before the first request, for devices that compile and measure kernels when they are first used.

use inferno_backend::{BlockId, LogitRows};

use crate::{EngineError, Runner, SequenceRunner, WindowUpdate};

/// Numbers of rows for which devices may have different kernels, up to those of the largest batch.
const ROW_COUNTS: [usize; 6] = [1, 4, 8, 16, 32, 64];

/// Runs passes with various numbers of rows, up to the largest batch, so that later ones do not wait for kernels. Models
/// without logits compute hidden states.
///
/// They overwrite the KV cache and recurrent states. So no sequence may exist.
///
/// **Errors**: those of a pass.
pub fn warm_up(runner: &mut dyn Runner) -> Result<(), EngineError> {
    let (has_logits, is_causal) = (runner.has_logits(), runner.is_causal());
    let (limits, layout) = (runner.limits(), runner.kv_layout());
    let num_positions = layout.num_blocks.saturating_mul(layout.block_tokens);
    let (num_blocks, has_window) = (layout.num_blocks, layout.window.is_some());
    // One position is for the last pass.
    let most = num_positions.min(runner.context_length()).saturating_sub(1);
    let largest = limits.max_num_tokens.min(most);
    let forward = SequenceRunner::new(runner);
    let mut forward = match has_logits {
        true => forward.with_candidates(1),
        false => forward.with_hidden_states(),
    };
    let smaller = ROW_COUNTS.into_iter().filter(|&num_rows| num_rows < largest);
    for num_rows in smaller.chain((largest > 0).then_some(largest)) {
        let mut sequences = [forward.sequence()];
        sequences[0].extend(&vec![0; num_rows]);
        let rows = match !has_logits || num_rows <= limits.max_num_logit_rows {
            true => LogitRows::All,
            false => LogitRows::Last,
        };
        forward.run_next(&mut sequences, num_rows, rows)?;
        if num_rows == largest && is_causal {
            // Decode after the longest context: attention may be divided.
            sequences[0].extend(&[0]);
            forward.run_next(&mut sequences, 1, LogitRows::Last)?;
        }
        let [sequence] = &mut sequences;
        forward.truncate(sequence, 0);
    }
    if has_window {
        let blocks = (0..num_blocks as u32).map(BlockId);
        runner.update_windows(&blocks.map(WindowUpdate::Release).collect::<Vec<_>>());
    }
    Ok(())
}
