//! The order in which sequences are scheduled.

use std::time::Duration;

use inferno_engine::{RowRequest, SchedulerLimits};

use super::{Machine, limits};

/// A prompt of `len` tokens, different for each `seed`.
fn prompt(seed: u32, len: usize) -> Vec<u32> {
    (0..len as u32).map(|at| 1000 * (seed + 1) + at).collect()
}

#[test]
fn a_long_prompt_does_not_delay_decoding_sequences() {
    let mut machine = Machine::new(limits(60));
    let short = machine.add(&prompt(0, 3), 20, 0);
    machine.step();
    let long = machine.add(&prompt(1, 100), 5, 0);
    for _ in 0..10 {
        let plan = machine.step();
        let tokens: Vec<_> = plan.chunks.iter().map(|chunk| (chunk.id, chunk.num_tokens)).collect();
        assert_eq!(tokens, [(short, 1), (long, 9)]);
    }
}

#[test]
fn prompts_progress_while_sequences_decode() {
    let one_more = SchedulerLimits { max_num_batched_tokens: 5, ..limits(60) };
    let mut machine = Machine::new(one_more);
    for seed in 0..3 {
        machine.add(&prompt(seed, 1), 50, 0);
    }
    machine.step();
    let long = machine.add(&prompt(3, 60), 5, 0);
    for _ in 0..30 {
        let plan = machine.step();
        assert_eq!(plan.chunks.len(), 4);
        assert_eq!((plan.chunks[3].id, plan.chunks[3].num_tokens), (long, 2));
    }
}

#[test]
fn prompts_with_logits_at_all_positions_leave_rows_for_others() {
    let few_rows =
        SchedulerLimits { max_num_batched_tokens: 40, max_num_logit_rows: 10, ..limits(60) };
    let mut machine = Machine::new(few_rows);
    let scored =
        [0, 1].map(|seed| machine.add_until(&prompt(seed, 30), RowRequest::All, 1, 0, None));
    machine.step();
    let new = machine.add(&prompt(2, 2), 5, 0);
    let plan = machine.step();
    let ids: Vec<_> = plan.chunks.iter().map(|chunk| chunk.id).collect();
    assert_eq!(ids, [scored[0], scored[1], new]);
    machine.run(100);
    assert_eq!(machine.ended.len(), 3);
}

#[test]
fn the_last_sequence_is_preempted_first() {
    let mut machine = Machine::new(limits(8));
    let (first, last) = (machine.add(&prompt(0, 8), 20, 0), machine.add(&prompt(1, 8), 20, 0));
    let mut preempted = Vec::new();
    while machine.open().contains(&first) {
        preempted.extend(machine.step().preempted);
    }
    assert!(preempted.iter().all(|&id| id == last) && !preempted.is_empty(), "{preempted:?}");
    assert_eq!(machine.scheduler.counts().preemptions, preempted.len() as u64);
    machine.run(100);
    assert_eq!(machine.ended.len(), 2);
}

#[test]
fn priorities_order_sequences_without_starvation() {
    let one_by_one = SchedulerLimits { max_num_sequences: 1, ..limits(8) };
    let mut machine = Machine::new(one_by_one);
    machine.add(&prompt(0, 4), 4, 0);
    machine.step();
    let patient = machine.add(&prompt(1, 4), 4, 1);
    let urgent = machine.add(&prompt(2, 4), 4, -1);
    let mut num_steps = 0;
    while !machine.ended.contains_key(&urgent) {
        machine.step();
        assert!(!machine.ended.contains_key(&patient));
    }
    // More work arrives than can be computed.
    while !machine.ended.contains_key(&patient) {
        machine.add(&prompt(3 + num_steps, 4), 4, 0);
        machine.step();
        num_steps += 1;
        assert!(num_steps < 1000, "it never has its turn");
    }
    assert!(num_steps > 64 * 4, "the priority had no effect: {num_steps}");
}

#[test]
fn no_sequence_overtakes_one_that_waits_for_blocks() {
    let mut machine = Machine::new(limits(8));
    let running = machine.add(&prompt(0, 18), 6, 0);
    machine.step();
    machine.step();
    let large = machine.add(&prompt(1, 24), 2, 0);
    let small = machine.add(&prompt(2, 1), 2, 0);
    while machine.open().contains(&running) {
        let plan = machine.step();
        assert!(plan.admitted.iter().all(|it| it.id != small), "it overtook");
    }
    let plan = machine.step();
    assert_eq!(plan.admitted[0].id, large);
    machine.run(100);
}

#[test]
fn a_deadline_finishes_running_and_waiting_sequences() {
    let one_by_one = SchedulerLimits { max_num_sequences: 1, ..limits(20) };
    let mut machine = Machine::new(one_by_one);
    let deadline = machine.now + Duration::from_secs(5);
    let running = machine.add_until(&prompt(0, 40), RowRequest::Last, 20, 0, Some(deadline));
    let waiting = machine.add_until(&prompt(1, 4), RowRequest::Last, 20, 0, Some(deadline));
    let later = machine.add(&prompt(2, 4), 2, 0);
    assert_eq!(machine.step().expired, []);
    machine.now = deadline;
    let plan = machine.step();
    assert_eq!(plan.expired, [running, waiting]);
    assert_eq!(plan.chunks[0].id, later);
}

#[test]
fn a_removed_sequence_frees_its_blocks_at_once() {
    let mut machine = Machine::new(SchedulerLimits { prefix_cache: false, ..limits(10) });
    let long = machine.add(&prompt(0, 38), 2, 0);
    let next = machine.add(&prompt(1, 38), 2, 0);
    machine.step();
    assert_eq!(machine.scheduler.block_usage().num_free, 0);
    machine.remove(long);
    assert_eq!(machine.scheduler.block_usage().num_free, 10);
    assert_eq!(machine.step().chunks[0].id, next);
}

#[test]
fn a_short_prompt_does_not_wait_for_long_ones() {
    let mut machine = Machine::new(SchedulerLimits { max_num_batched_tokens: 32, ..limits(200) });
    let long = machine.add(&prompt(0, 300), 2, 0);
    assert_eq!(machine.step().num_tokens(), 32, "a prompt alone gets the whole step");
    let second = machine.add(&prompt(1, 200), 2, 0);
    let third = machine.add(&prompt(2, 100), 2, 0);
    machine.step();
    let short = machine.add(&prompt(3, 3), 1, 0);
    let mut num_steps = 0;
    while !machine.ended.contains_key(&short) {
        let plan = machine.step();
        assert_eq!(plan.num_tokens(), 32, "no token of the step is left");
        let of = |id| plan.chunks.iter().find(|chunk| chunk.id == id).map_or(0, |it| it.num_tokens);
        assert!(of(long) >= 24, "the first gets most of the step: {plan:?}");
        num_steps += 1;
        assert!(num_steps < 5, "the short prompt waits");
    }
    machine.run(100);
    assert!([long, second, third].iter().all(|id| machine.ended.contains_key(id)));
}

#[test]
fn prompts_use_limited_tokens_only_while_sequences_decode() {
    let mut machine = Machine::new(SchedulerLimits { max_num_batched_tokens: 32, ..limits(200) });
    machine.scheduler.limit_prefill(Some(6));
    let decoding = machine.add(&prompt(0, 20), 12, 0);
    assert_eq!(machine.step().num_tokens(), 20);
    let long = machine.add(&prompt(1, 300), 2, 0);
    while machine.open().contains(&decoding) {
        let plan = machine.step();
        assert_eq!(plan.chunks[0].id, decoding);
        assert_eq!((plan.chunks[1].id, plan.chunks[1].num_tokens), (long, 6));
    }
    assert_eq!(machine.step().num_tokens(), 32);
}

#[test]
fn the_most_urgent_requests_overtake_a_limited_number_of_others() {
    let one_by_one = SchedulerLimits { max_num_sequences: 1, ..limits(8) };
    let mut machine = Machine::new(one_by_one);
    let patient = machine.add(&prompt(0, 1), 1, i32::MAX);
    let mut num_others = 0;
    while !machine.ended.contains_key(&patient) {
        machine.add(&prompt(1 + num_others, 1), 1, i32::MIN);
        machine.step();
        num_others += 1;
        assert!(num_others < 5000, "it never has its turn");
    }
    let num_overtaking = machine.ended.len() - 1;
    assert!((2000..2049).contains(&num_overtaking), "{num_overtaking} overtook it");
}
