//! Scheduler invariants under random sequences of events.

use std::collections::BTreeMap;
use std::time::Duration;

use inferno_engine::{RowRequest, SchedulerLimits};
use proptest::prelude::*;

use super::{BLOCK_TOKENS, Machine, alone};

/// An event for a scheduler.
#[derive(Debug, Clone)]
enum Happening {
    Add {
        prompt: Vec<u32>,
        rows: RowRequest,
        num_generated: usize,
        priority: i32,
        lifetime: Option<u64>,
    },
    Remove(usize),
    Step,
}

fn happening() -> impl Strategy<Value = Happening> {
    // Few different tokens, so that prompts often share a prefix.
    let prompt = prop::collection::vec(0u32..2, 1..30);
    let lifetime = prop::option::weighted(0.1, 0u64..20);
    let rows = prop_oneof![
        3 => Just(RowRequest::Last),
        1 => Just(RowRequest::All),
        2 => (0usize..30).prop_map(RowRequest::From),
        1 => Just(RowRequest::LastHidden),
        1 => Just(RowRequest::AllHidden),
    ];
    let add = (prompt, rows, 0usize..20, -2i32..3, lifetime).prop_map(
        |(prompt, rows, num_generated, priority, lifetime)| Happening::Add {
            rows: match rows {
                RowRequest::From(position) => RowRequest::From(position % prompt.len()),
                rows => rows,
            },
            prompt,
            num_generated,
            priority,
            lifetime,
        },
    );
    prop_oneof![2 => add, 1 => any::<usize>().prop_map(Happening::Remove), 5 => Just(Happening::Step)]
}

fn limits() -> impl Strategy<Value = SchedulerLimits> {
    // A prompt of 29 tokens needs 8 blocks: with 8 blocks, one such prompt runs at a time.
    let slots = prop_oneof![Just(0), 1usize..12];
    let limits = (8usize..30, 1usize..6, 1usize..20, 0usize..6, any::<bool>(), slots);
    limits.prop_map(
        |(num_blocks, max_num_sequences, more_tokens, more_rows, prefix_cache, num_state_slots)| {
            SchedulerLimits {
                num_state_slots,
                num_blocks,
                block_tokens: BLOCK_TOKENS,
                max_num_sequences,
                max_num_batched_tokens: max_num_sequences + more_tokens,
                max_num_logit_rows: max_num_sequences + more_rows,
                prefix_cache,
                whole_prompts: false,
                window: None,
            }
        },
    )
}

proptest! {
    #[test]
    fn no_block_leaks_and_every_sequence_matches_a_solo_run(
        limits in limits(),
        drafts in any::<bool>(),
        holds in any::<bool>(),
        happenings in prop::collection::vec(happening(), 0..120),
    ) {
        let mut machine = Machine { drafts, holds, ..Machine::new(limits) };
        let capacity = machine.scheduler.capacity();
        let mut expected = BTreeMap::new();
        for happening in happenings {
            match happening {
                Happening::Add { prompt, rows, num_generated, priority, lifetime } => {
                    let deadline = lifetime.map(|steps| machine.now + Duration::from_secs(steps));
                    let id = machine.add_until(&prompt, rows, num_generated, priority, deadline);
                    expected.insert(id, alone(&prompt, num_generated, capacity));
                }
                Happening::Remove(which) => {
                    let open = machine.open();
                    if !open.is_empty() {
                        machine.remove(open[which % open.len()]);
                    }
                }
                Happening::Step => {
                    machine.step();
                    machine.now += Duration::from_secs(1);
                }
            }
        }
        machine.run(20_000);
        for (id, tokens) in &machine.ended {
            prop_assert_eq!(tokens, &expected[id]);
        }
        let usage = machine.scheduler.block_usage();
        prop_assert_eq!(usage.num_free + usage.num_cached, limits.num_blocks);
        let states = machine.scheduler.state_usage();
        prop_assert_eq!(states.num_free + states.num_checkpoints, limits.num_state_slots);
    }
}
