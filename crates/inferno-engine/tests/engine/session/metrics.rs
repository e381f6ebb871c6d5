//! Metrics of a generation.

use std::time::{Duration, Instant};

use super::{fresh, greedy, tokens_of};

#[test]
fn metrics_count_prompt_tokens_generated_tokens_and_passes() {
    let mut session = fresh();
    tokens_of(&mut session, &[2; 20], &greedy(5));
    let metrics = session.metrics();
    assert_eq!((metrics.prompt_tokens, metrics.generated_tokens), (20, 5));
    assert_eq!(metrics.prefill_passes.durations().len(), 3);
    assert_eq!(metrics.prefill_passes.num_tokens(), 20);
    assert_eq!(metrics.decode_passes.durations().len(), 4);
    assert!(metrics.time_to_first_token.is_some());
    assert!(metrics.decode_tokens_per_second().is_some());
    assert!(metrics.to_string().contains("20 tokens"));
}

#[test]
fn time_before_the_first_step_is_not_counted() {
    let mut session = fresh();
    let started = Instant::now();
    let mut generation = session.generate(&[2; 20], &greedy(2)).expect("it fits");
    let called = started.elapsed();
    std::thread::sleep(Duration::from_millis(50));
    let resumed = Instant::now();
    generation.next().expect("a step").expect("no error");
    let in_the_engine = called + resumed.elapsed();
    let time_to_first_token = generation.metrics().time_to_first_token;
    assert!(time_to_first_token.expect("there is one") <= in_the_engine);
}
