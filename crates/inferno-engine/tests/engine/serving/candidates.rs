//! Devices that return candidates instead of whole rows of logits.

use inferno_backend::LogitRows;
use inferno_engine::{
    DryParams, GenerationParams, Request, Sampler, SamplingParams, SequenceRunner, StopParams,
};

use super::constraints::Alternates;
use super::{alone, engine, events, failure, only, put_together, runner, submit};
use crate::fake_runner::Outcome;
use crate::session::greedy;
use crate::vocabulary::VOCAB_SIZE;

fn with_sampling(sampling: SamplingParams) -> GenerationParams {
    let stop = StopParams { min_tokens: 4, max_tokens: Some(12), ..Default::default() };
    GenerationParams { sampling: SamplingParams { seed: Some(3), ..sampling }, stop, ..greedy(12) }
}

/// Requests that need a few candidates.
fn truncated() -> Vec<GenerationParams> {
    let top_k = SamplingParams { top_k: 5, top_p: 0.9, temperature: 1.3, ..Default::default() };
    let scored = SamplingParams { logprobs: Some(3), ..SamplingParams::greedy() };
    let speculative =
        GenerationParams { num_speculative_tokens: 2, ..with_sampling(SamplingParams::greedy()) };
    vec![with_sampling(top_k), with_sampling(scored), speculative]
}

/// Requests that need whole rows.
fn untruncated() -> Vec<GenerationParams> {
    let penalized = SamplingParams { repetition_penalty: 1.2, ..SamplingParams::greedy() };
    let dry = DryParams { multiplier: 2.0, sequence_breakers: Vec::new(), ..DryParams::default() };
    let repetitive = SamplingParams { dry, ..SamplingParams::greedy() };
    [SamplingParams::default(), penalized, repetitive].map(with_sampling).to_vec()
}

fn prompt(which: usize) -> Vec<u32> {
    (2..12).chain([3 + which as u32]).collect()
}

/// Runs requests together, and returns the number of whole rows that were read.
fn run(all: &[GenerationParams]) -> usize {
    let runner = runner(60).with_candidates();
    let num_read = runner.num_read_rows();
    let engine = engine(runner);
    let streams: Vec<_> =
        (0..).zip(all).map(|(which, params)| submit(&engine, &prompt(which), params)).collect();
    for ((which, params), stream) in (0..).zip(all).zip(streams) {
        let (found, expected) = (only(stream).0, alone(&prompt(which), params));
        assert_eq!((&found.tokens, &found.text), (&expected.tokens, &expected.text), "{params:?}");
        for (found, expected) in found.logprobs.iter().zip(&expected.logprobs) {
            assert_eq!(found.rank, expected.rank);
            assert!((found.logprob - expected.logprob).abs() < 1e-5);
        }
    }
    *num_read.lock().expect("no pass panicked")
}

#[test]
fn requests_generate_what_they_generate_from_whole_rows() {
    assert_eq!(run(&truncated()), 0, "candidates are enough");
    run(&untruncated());
    assert!(run(&[truncated(), untruncated()].concat()) > 0, "some requests need whole rows");
}

#[test]
fn whole_rows_of_a_pass_are_read_together() {
    let whole = std::iter::repeat_n(untruncated(), 3).flatten();
    let requests: Vec<_> = truncated().into_iter().take(1).chain(whole).collect();
    // Six requests of up to 12 tokens each, which most passes compute together.
    let num_read = run(&requests);
    assert!((1..=24).contains(&num_read), "{num_read}");
}

#[test]
fn constraints_read_whole_rows() {
    let runner = runner(60).with_candidates();
    let num_read = runner.num_read_rows();
    let engine = engine(runner);
    let greedy = greedy(6);
    let constrained = Request {
        constraint: Some(Box::new(Alternates::default())),
        ..Request::new(prompt(0), greedy.clone())
    };
    let constrained = engine.handle().submit(constrained).expect("a sound request");
    let free = submit(&engine, &prompt(1), &greedy);
    let (tokens, _) = put_together(&events(constrained), 0);
    assert!((0..).zip(tokens.tokens).all(|(place, token)| token % 2 == place % 2));
    assert_eq!(only(free).0, alone(&prompt(1), &greedy));
    assert!(*num_read.lock().expect("no pass panicked") <= 6);
}

#[test]
fn logits_that_are_not_finite_are_an_error() {
    let runner = runner(40).with_candidates().with_hook(|_| Outcome::GivesNan);
    let message = failure(submit(&engine(runner), &[2, 3], &greedy(3)));
    assert!(message.contains("the logit NaN for token 0"), "{message}");
}

#[test]
fn tokens_without_a_text_are_no_candidates() {
    let likes_the_last = |_: &[u32], token: usize| token as f32;
    let runner = runner(40).with_vocab_size(VOCAB_SIZE + 5).with_candidates();
    let engine = engine(runner.with_logits(likes_the_last));
    let (found, _) = only(submit(&engine, &[2, 3], &greedy(3)));
    assert_eq!(found.tokens, [VOCAB_SIZE as u32 - 1; 3]);
}

#[test]
fn sequences_without_a_scheduler_return_candidates() {
    let mut runner = runner(40).with_candidates();
    let num_read = runner.num_read_rows();
    let mut forward = SequenceRunner::new(&mut runner).with_candidates(1);
    let mut sequences = [forward.sequence()];
    sequences[0].extend(&prompt(0));
    let output = forward.run_next(&mut sequences, 12, LogitRows::Last).expect("it runs");
    let output = output.expect("tokens to compute");
    let row = output.rows().next().expect("a row of the last token");
    let mut sampler = Sampler::new(SamplingParams::greedy(), VOCAB_SIZE).expect("valid");
    let token = sampler.sample_row(row, &[]).expect("finite logits");
    assert_eq!([token.id][..], alone(&prompt(0), &greedy(1)).tokens);
    assert_eq!(*num_read.lock().expect("no pass panicked"), 0);
    assert_eq!(row.values().expect("a whole row").len(), VOCAB_SIZE);
    assert_eq!(*num_read.lock().expect("no pass panicked"), 1);
}
