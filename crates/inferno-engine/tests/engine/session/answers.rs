//! Generated tokens, their text and their log-probabilities.

use inferno_engine::{Completion, DryParams, FinishReason, GenerationParams, SamplingParams};

use super::{CONTEXT_LENGTH, continuation_of_a_fresh_session, fresh, greedy, session, tokens_of};
use crate::fake_runner::FakeRunner;
use crate::vocabulary::{END, VOCAB_SIZE, tokenizer};

#[test]
fn text_matches_tokens_and_never_splits_a_character() {
    let mut session = session(FakeRunner::new(1000, 64));
    let generation = session.generate("a", &greedy(900)).expect("it fits");
    let mut text = String::new();
    let mut tokens = Vec::new();
    for step in generation {
        let step = step.expect("a runner that does not fail");
        text.push_str(&step.text);
        tokens.push(step.token.expect("it is not cancelled").id);
    }
    let whole = tokenizer().decode(&tokens, true).expect("known tokens");
    assert!(whole.contains('é'), "the test needs characters of two tokens: {whole}");
    assert_eq!(text, whole);
}

#[test]
fn a_character_begun_by_the_prompt_is_returned_whole() {
    let tokenizer = tokenizer();
    let first_half = tokenizer.token_id("Ã").expect("it is in the vocabulary");
    let second_half = tokenizer.token_id("©").expect("it is in the vocabulary");
    let mut params = greedy(1);
    params.sampling.logit_bias = vec![(second_half, 100.0)];
    let mut session = fresh();
    let generation = session.generate(&[2, first_half], &params).expect("it fits");
    assert_eq!(generation.complete().expect("it runs").text, "é");
}

#[test]
fn tokens_without_text_are_never_sampled() {
    let runner = FakeRunner::new(CONTEXT_LENGTH, 8).with_vocab_size(10 * VOCAB_SIZE);
    let said = tokens_of(&mut session(runner), &[2], &greedy(20));
    assert_eq!(said, continuation_of_a_fresh_session(&[2], 20));
}

#[test]
fn dry_ends_a_loop_that_earlier_turns_began() {
    // The best token always continues a cycle of four tokens.
    let cyclic = || {
        let runner = FakeRunner::new(CONTEXT_LENGTH, 8);
        session(runner.with_logits(
            |history, token| {
                if token == 2 + history.len() % 4 { 5.0 } else { 0.0 }
            },
        ))
    };
    let dry = DryParams { multiplier: 1.0, ..DryParams::default() };
    let sampling = SamplingParams { dry, ..SamplingParams::greedy() };
    let params = GenerationParams { sampling, ..greedy(12) };

    let mut session = cyclic();
    let looping = tokens_of(&mut session, &[2], &greedy(12));
    assert_eq!(looping[4..], looping[..8]);
    let mut history = session.tokens().to_vec();
    history.push(2 + history.len() as u32 % 4);
    let found = tokens_of(&mut session, &history[history.len() - 1..], &params);
    assert_ne!(found[0] as usize, 2 + history.len() % 4, "the token that continues the loop");
    assert_eq!(found, tokens_of(&mut cyclic(), &history, &params));
}

#[test]
fn tokens_carry_logprobs_and_the_seed() {
    let params = GenerationParams {
        sampling: SamplingParams { logprobs: Some(2), ..Default::default() },
        ..greedy(6)
    };
    let mut first = fresh();
    let generation = first.generate(&[2], &params).expect("it fits");
    let seed = generation.seed();
    let completion = generation.complete().expect("it runs");
    assert_eq!(completion.logprobs.len(), 6);
    assert!(completion.logprobs.iter().all(|logprobs| logprobs.top.len() == 2));

    let sampling = SamplingParams { seed: Some(seed), ..params.sampling.clone() };
    let again = GenerationParams { sampling, ..params };
    assert_eq!(tokens_of(&mut fresh(), &[2], &again), completion.tokens);
}

/// An answer whose first token is the first byte of é; `change` sets how it ends.
fn half_a_character(change: impl Fn(&mut GenerationParams)) -> Completion {
    let first_half = tokenizer().token_id("Ã").expect("it is in the vocabulary");
    let mut params = greedy(1);
    params.sampling.logit_bias = vec![(first_half, 50.0)];
    change(&mut params);
    let mut session = fresh();
    let generation = session.generate(&[2], &params).expect("it fits");
    generation.complete().expect("a runner that does not fail")
}

#[test]
fn a_character_cut_by_the_end_is_omitted() {
    let second_half = tokenizer().token_id("©").expect("it is in the vocabulary");
    let by_length = half_a_character(|_| ());
    assert_eq!(by_length.finish_reason, FinishReason::Length);
    assert_eq!(by_length.tokens, [tokenizer().token_id("Ã").expect("it is in the vocabulary")]);
    assert_eq!(by_length.text, "");

    // Stopped by the second half, which is part of the text only on request.
    let biased_to_stop = |params: &mut GenerationParams| {
        params.stop.max_tokens = Some(2);
        params.stop.min_tokens = 1;
        params.stop.stop_token_ids = vec![second_half];
        params.sampling.logit_bias.push((second_half, 100.0));
    };
    let stopped = half_a_character(biased_to_stop);
    assert_eq!(stopped.finish_reason, FinishReason::StopToken(second_half));
    assert_eq!(stopped.text, "");
    let kept = half_a_character(|params| {
        biased_to_stop(params);
        params.stop.include_stop_str_in_output = true;
    });
    assert_eq!(kept.text, "é");

    let ended = half_a_character(|params| {
        params.stop.max_tokens = Some(2);
        params.stop.min_tokens = 1;
        params.stop.ignore_eos = false;
        params.sampling.logit_bias.push((END, 100.0));
    });
    assert_eq!(ended.finish_reason, FinishReason::EndOfGeneration);
    assert_eq!(ended.text, "");

    // Two first halves: the first can no longer be completed.
    let broken = half_a_character(|params| params.stop.max_tokens = Some(2));
    assert_eq!(broken.text, "\u{fffd}");
}
