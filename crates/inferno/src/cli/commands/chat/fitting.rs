//! Selects the oldest exchanges to leave out so that the prompt fits the context.

/// A prompt that fits the context, if any does.
#[derive(Debug, PartialEq)]
pub(super) struct FittedPrompt {
    pub(super) num_left_out: usize,
    /// The prompt without them.
    pub(super) prompt: RenderedPrompt,
}

/// A rendered conversation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RenderedPrompt {
    pub(super) text: String,
    pub(super) tokens: Vec<u32>,
}

/// Leaves out as few exchanges as needed for the prompt to have at most `max_num_tokens`: at least `fewest`, at most
/// `most`. If no number is sufficient, leaves out `most`.
///
/// `render` returns the prompt without a number of oldest exchanges. It is called O(log most) times.
pub(super) fn fit<E>(
    fewest: usize,
    most: usize,
    max_num_tokens: usize,
    render: impl Fn(usize) -> Result<RenderedPrompt, E>,
) -> Result<FittedPrompt, E> {
    let fits = |prompt: &RenderedPrompt| prompt.tokens.len() <= max_num_tokens;
    let first = render(fewest)?;
    if fits(&first) || fewest >= most {
        return Ok(FittedPrompt { num_left_out: fewest, prompt: first });
    }
    // Binary search: leaving out `too_few` is not enough, `best` is the smallest known number that may be.
    let (mut too_few, mut best) =
        (fewest, FittedPrompt { num_left_out: most, prompt: render(most)? });
    while best.num_left_out - too_few > 1 {
        let num_left_out = too_few.midpoint(best.num_left_out);
        let prompt = render(num_left_out)?;
        match fits(&prompt) {
            true => best = FittedPrompt { num_left_out, prompt },
            false => too_few = num_left_out,
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    /// Ten tokens per exchange and five for the question, with `most` exchanges.
    fn render(most: usize) -> impl Fn(usize) -> Result<RenderedPrompt, Infallible> {
        move |num_left_out| {
            let tokens = vec![0; 10 * (most - num_left_out) + 5];
            Ok(RenderedPrompt { text: num_left_out.to_string(), tokens })
        }
    }

    #[test]
    fn as_few_exchanges_as_possible_are_left_out() {
        for most in 0..40 {
            for fewest in 0..=most {
                for max_num_tokens in 0..(10 * most + 10) {
                    let Ok(fitted) = fit(fewest, most, max_num_tokens, render(most));
                    let enough = |&num: &usize| 10 * (most - num) + 5 <= max_num_tokens;
                    let expected = (fewest..=most).find(enough).unwrap_or(most);
                    assert_eq!(fitted.num_left_out, expected, "{fewest} {most} {max_num_tokens}");
                    assert_eq!(fitted.prompt.text, expected.to_string());
                }
            }
        }
    }

    #[test]
    fn a_long_conversation_is_rendered_only_a_few_times() {
        let count = Cell::new(0);
        let counted = |num_left_out| {
            count.set(count.get() + 1);
            render(100_000)(num_left_out)
        };
        let Ok(fitted) = fit(0, 100_000, 123, counted);
        assert_eq!(fitted.num_left_out, 100_000 - 11);
        assert!(count.get() < 24, "{}", count.get());
    }
}
