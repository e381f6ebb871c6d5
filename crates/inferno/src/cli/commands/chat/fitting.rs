//! Which of the oldest exchanges must be left out so that the rest fits the context.

/// What was chosen.
#[derive(Debug, PartialEq)]
pub(super) struct Fitted {
    pub(super) num_left_out: usize,
    /// What is left.
    pub(super) prompt: Prompt,
}

/// A conversation as the model reads it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prompt {
    pub(super) text: String,
    pub(super) tokens: Vec<u32>,
}

/// Leaves out as few exchanges as bring the prompt down to `max_num_tokens`, at least `fewest` and at most `most`. If
/// none of that does, all `most` are left out.
///
/// `render` gives the prompt without a number of exchanges; it is called a few times only, however many there are.
pub(super) fn fit<E>(
    fewest: usize,
    most: usize,
    max_num_tokens: usize,
    render: impl Fn(usize) -> Result<Prompt, E>,
) -> Result<Fitted, E> {
    let fits = |prompt: &Prompt| prompt.tokens.len() <= max_num_tokens;
    let first = render(fewest)?;
    if fits(&first) || fewest >= most {
        return Ok(Fitted { num_left_out: fewest, prompt: first });
    }
    // Leaving out `too_few` is not enough; between that and the best so far lies the answer.
    let (mut too_few, mut best) = (fewest, Fitted { num_left_out: most, prompt: render(most)? });
    while best.num_left_out - too_few > 1 {
        let num_left_out = too_few.midpoint(best.num_left_out);
        let prompt = render(num_left_out)?;
        match fits(&prompt) {
            true => best = Fitted { num_left_out, prompt },
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

    /// Ten tokens an exchange and five for the question, with `most` exchanges.
    fn render(most: usize) -> impl Fn(usize) -> Result<Prompt, Infallible> {
        move |num_left_out| {
            let tokens = vec![0; 10 * (most - num_left_out) + 5];
            Ok(Prompt { text: num_left_out.to_string(), tokens })
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
    fn a_long_conversation_is_rendered_a_few_times_only() {
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
