//! Time of a step of 64 sequences outside the model: the plan, its batch, and the commit.

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use inferno_backend::{Batch, BatchBuilder};
use inferno_engine::{Continuation, RowRequest, Scheduler, SchedulerLimits};

const NUM_SEQUENCES: usize = 64;
const BLOCK_TOKENS: usize = 16;

/// Prompts of 1,100 tokens, of which the first thousand are the same.
fn prompt(which: u32) -> Vec<u32> {
    (0..1000).chain((0..100).map(|at| 1000 + 100 * which + at)).collect()
}

/// Each step one sequence ends and another comes, and the others decode.
fn step_of_64_sequences(criterion: &mut Criterion) {
    let mut scheduler = Scheduler::new(SchedulerLimits {
        num_state_slots: 0,
        num_blocks: 4096,
        block_tokens: BLOCK_TOKENS,
        max_num_sequences: NUM_SEQUENCES,
        max_num_batched_tokens: 512,
        max_num_logit_rows: NUM_SEQUENCES,
        prefix_cache: true,
        whole_prompts: false,
        window: None,
    });
    let mut next_prompt = 0..;
    let mut add = |scheduler: &mut Scheduler| {
        let which = next_prompt.next().expect("numbers do not end");
        scheduler.add(&prompt(which), RowRequest::Last, 0, None);
    };
    (0..NUM_SEQUENCES).for_each(|_| add(&mut scheduler));
    let mut batch = Batch::default();
    let now = Instant::now();
    let mut step = || {
        let plan = scheduler.schedule(now);
        let mut builder: BatchBuilder = std::mem::take(&mut batch).into_builder(BLOCK_TOKENS);
        for chunk in &plan.chunks {
            builder.push(&scheduler.chunk(chunk)).expect("a sound chunk");
        }
        batch = builder.build();
        let next = |is_last: bool| Continuation { num_accepted: 0, next: is_last.then_some(1) };
        let mut continuations: Vec<_> =
            plan.chunks.iter().map(|chunk| next(chunk.is_last)).collect();
        let is_full = plan.chunks.len() == NUM_SEQUENCES;
        if is_full {
            continuations[0].next = None;
        }
        scheduler.commit(&plan, &continuations);
        if is_full {
            add(&mut scheduler);
        }
        black_box(&batch);
    };
    (0..4 * NUM_SEQUENCES).for_each(|_| step());
    criterion.bench_function("step_of_64_sequences", |bencher| bencher.iter(&mut step));
}

criterion_group!(benches, step_of_64_sequences);
criterion_main!(benches);
