//! Prompts with a common prefix.

use inferno_engine::SchedulerLimits;

use super::{BLOCK_TOKENS, Machine, alone, limits};

#[test]
fn a_cached_prompt_is_not_recomputed() {
    let mut machine = Machine::new(limits(20));
    let prompt: Vec<u32> = (100..119).collect();
    machine.add(&prompt, 4, 0);
    machine.run(20);
    let again = machine.add(&prompt, 4, 0);
    let plan = machine.step();
    assert_eq!((plan.admitted[0].id, plan.admitted[0].num_cached_tokens), (again, 16));
    assert_eq!(plan.chunks[0].num_tokens, 3);
    let counts = machine.scheduler.counts();
    assert_eq!((counts.prefix_queries, counts.prefix_hits), (38, 16));
}

#[test]
fn continuing_a_conversation_computes_only_new_tokens() {
    let mut machine = Machine::new(limits(20));
    let first = machine.add(&[1, 2, 3, 4, 5], 8, 0);
    machine.run(20);
    let mut next = machine.ended[&first].clone();
    next.extend([9, 9]);
    machine.add(&next, 2, 0);
    let plan = machine.step();
    // 13 tokens fill three blocks.
    assert_eq!(plan.admitted[0].num_cached_tokens, 12);
    machine.run(20);
}

#[test]
fn the_last_token_of_a_fully_cached_prompt_is_computed() {
    let mut machine = Machine::new(limits(20));
    let prompt: Vec<u32> = (100..100 + 2 * BLOCK_TOKENS as u32).collect();
    machine.add(&prompt, 2, 0);
    machine.run(20);
    machine.add(&prompt, 2, 0);
    assert_eq!(machine.step().admitted[0].num_cached_tokens, BLOCK_TOKENS);
}

#[test]
fn waiting_for_a_shared_prefix_differs_from_waiting_for_blocks() {
    let mut machine = Machine::new(limits(20));
    let prompt: Vec<u32> = (100..100 + BLOCK_TOKENS as u32 + 1).collect();
    for _ in 0..2 {
        machine.add(&prompt, 6, 0);
    }
    machine.step();
    assert_eq!((machine.scheduler.num_waiting(), machine.scheduler.num_deferred()), (1, 1));
    machine.step();
    assert_eq!((machine.scheduler.num_waiting(), machine.scheduler.num_deferred()), (0, 0));
}

#[test]
fn choices_of_one_prompt_share_its_blocks() {
    let mut machine = Machine::new(limits(20));
    let prompt: Vec<u32> = (100..118).collect();
    let ids = [(); 4].map(|()| machine.add(&prompt, 6, 0));
    let mut num_computed = 0;
    while machine.scheduler.num_running() < 4 {
        num_computed += machine.step().num_tokens();
    }
    // The prompt once, then the tokens outside full blocks: two per choice, and the generated ones.
    assert!(num_computed < prompt.len() + 3 * 2 + 8, "{num_computed} tokens");
    assert_eq!(machine.scheduler.block_usage().num_in_use(), 4 + 4);
    machine.run(20);
    for id in ids {
        assert_eq!(machine.ended[&id], alone(&prompt, 6, 80));
    }
}

#[test]
fn the_least_recently_used_blocks_are_evicted() {
    let mut machine = Machine::new(limits(6));
    let prompts = [0, 1, 2].map(|seed| -> Vec<u32> { (0..9).map(|at| 100 * seed + at).collect() });
    for prompt in [&prompts[0], &prompts[1], &prompts[0], &prompts[2]] {
        machine.add(prompt, 1, 0);
        machine.run(10);
    }
    let cached = [0, 1].map(|which| {
        machine.add(&prompts[which], 1, 0);
        let num_cached_tokens = machine.step().admitted[0].num_cached_tokens;
        machine.run(10);
        num_cached_tokens
    });
    assert_eq!(cached, [8, 4], "blocks are evicted one by one, from the end of a prompt");
}

#[test]
fn without_a_prefix_cache_nothing_is_reused() {
    let mut machine = Machine::new(SchedulerLimits { prefix_cache: false, ..limits(20) });
    for _ in 0..2 {
        machine.add(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 4, 0);
        assert_eq!(machine.step().admitted[0].num_cached_tokens, 0);
        machine.run(20);
        assert_eq!(machine.scheduler.block_usage().num_free, 20);
    }
}
