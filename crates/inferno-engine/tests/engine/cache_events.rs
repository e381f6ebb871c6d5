//! The changes of the prefix cache: an observer that applies them knows its blocks.

use std::collections::HashSet;

use inferno_engine::{
    BlockHash, CacheEvent, Engine, EngineOptions, GenerationParams, Request, SamplingParams,
    Session, SessionOptions,
};

use crate::cores::core;
use crate::fake_runner::FakeRunner;
use crate::session::{greedy, tokens_of};

/// Tokens of a block of the fake runner.
const BLOCK_TOKENS: usize = 4;

/// What an observer knows.
#[derive(Debug, Default)]
struct Observer {
    blocks: HashSet<BlockHash>,
    num_removed: usize,
}

impl Observer {
    /// Applies an event, which must fit the events before it.
    fn apply(&mut self, event: &CacheEvent) {
        match event {
            CacheEvent::Stored { parent, blocks, tokens } => {
                assert_eq!(tokens.len(), blocks.len() * BLOCK_TOKENS);
                assert!(parent.is_none_or(|parent| self.blocks.contains(&parent)), "{event:?}");
                let mut before = *parent;
                for (block, tokens) in blocks.iter().zip(tokens.chunks_exact(BLOCK_TOKENS)) {
                    assert_eq!(*block, BlockHash::new(before, tokens));
                    assert!(self.blocks.insert(*block), "{block:?} was stored before");
                    before = Some(*block);
                }
            }
            CacheEvent::Removed { blocks } => {
                assert!(blocks.iter().all(|block| self.blocks.remove(block)), "{event:?}");
                self.num_removed += blocks.len();
            }
        }
    }
}

fn sampled(seed: u64) -> GenerationParams {
    let sampling = SamplingParams { seed: Some(seed), ..Default::default() };
    GenerationParams { sampling, ..greedy(12) }
}

/// Prompts with common prefixes and different ends.
fn prompt(which: u32) -> Vec<u32> {
    (2..12).chain([2 + which % 3; 5]).chain([3 + which % 20; 3]).collect()
}

#[test]
fn the_hash_of_a_block_is_defined_by_its_tokens_and_those_before_it() {
    // From Python: hashlib.sha256(parent.to_bytes(8, "big") + struct.pack("<4I", *tokens)).digest()[:8]
    let first = BlockHash::new(None, &[1, 2, 3, 4]);
    assert_eq!(first, BlockHash(0x9c3f_b1b4_d48d_2330));
    assert_eq!(BlockHash::new(Some(first), &[5, 6, 7, 100_000]), BlockHash(0xd40c_d129_a99e_204a));
}

#[test]
fn an_observer_knows_all_blocks_of_the_cache() {
    // Few blocks, so that blocks are evicted and sequences are preempted.
    let core = core(FakeRunner::new(64, 12).with_num_blocks(24).with_num_logit_rows(6));
    let mut session = Session::new(core.clone(), SessionOptions::default()).expect("a session");
    tokens_of(&mut session, &prompt(0), &greedy(4));

    let mut events = core.cache_events().expect("a running core");
    let mut observer = Observer::default();
    let engine = Engine::start(&core, EngineOptions::default()).expect("a sound engine");
    for round in 0..6 {
        let submit = |which| {
            let request = Request::new(prompt(which), sampled(which.into()));
            engine.handle().submit(request).expect("a sound request")
        };
        let streams: Vec<_> = (round * 4..round * 4 + 4).map(submit).collect();
        for mut stream in streams {
            while stream.blocking_next().is_some() {}
        }
        // The session goes back to earlier tokens, whose blocks it withdraws.
        session.truncate(10);
        tokens_of(&mut session, &[5], &sampled(round.into()));
    }
    session.reset();
    drop(session);
    drop(engine);
    while let Ok(batch) = events.try_recv() {
        batch.iter().for_each(|event| observer.apply(event));
    }
    assert!(observer.num_removed > 0, "the cache is smaller than all prompts");
    assert_eq!(observer.blocks.len(), core.snapshot().blocks.num_cached);
}
