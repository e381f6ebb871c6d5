//! Log-probabilities of prompt tokens.

use std::fs;
use std::sync::Arc;

use inferno_backend::{KvDType, ReferenceBackend};
use inferno_engine::{
    CoreOptions, Engine, EngineOptions, Event, Fingerprint, GenerationCore, ModelRunner, Request,
    RunnerOptions, SubmitError, TokenLogprobs,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, Model};
use proptest::prelude::*;
use serde::Deserialize;

use super::{alone, at_rest, engine, events, failure, put_together, runner};
use crate::fake_runner::Outcome;
use crate::models::{checkpoints, small_models};
use crate::session::greedy;
use crate::vocabulary::tokenizer_of;

/// A request that scores a prompt and generates nothing.
fn scoring(prompt: &[u32], count: usize) -> Request {
    let mut params = greedy(1);
    params.stop.max_tokens = Some(0);
    Request { prompt_logprobs: Some(count), ..Request::new(prompt.to_vec(), params) }
}

/// The prompt log-probabilities of a choice, which must be its first event and occur once.
fn scores(events: &[Event], choice: usize) -> Vec<TokenLogprobs> {
    let mut of_choice = events.iter().filter(|event| match event {
        Event::Prompt(event) => event.choice == choice,
        Event::Token(event) => event.choice == choice,
        Event::Finished(event) => event.choice == choice,
        Event::Failed(error) => panic!("the request failed: {error}"),
        Event::Embedding(_) | Event::Logits(_) | Event::Progress(_) => {
            panic!("{event:?} was not requested")
        }
    });
    let Some(Event::Prompt(first)) = of_choice.next() else {
        panic!("they are not the first event")
    };
    assert!(!of_choice.any(|event| matches!(event, Event::Prompt(_))), "they occur twice");
    first.logprobs.clone()
}

#[test]
fn prompt_logprobs_match_transformers() {
    #[derive(Deserialize)]
    struct Answer {
        tokens: Vec<u32>,
        logits: Vec<Vec<f64>>,
    }
    for path in checkpoints(&small_models()) {
        let checkpoint = Gguf::open(&path).expect("a sound file");
        let answer =
            fs::read(path.with_extension("json")).expect("reference logits for each model");
        let answer: Answer = serde_json::from_slice(&answer).expect("tokens and logits");
        let backend = Arc::new(ReferenceBackend::new());
        let model = Model::load(&checkpoint, backend, None, &mut |_| ()).expect("a sound model");
        let options = RunnerOptions {
            kv_dtype: Some(KvDType::F32),
            limits: BatchLimits { max_num_tokens: 9, max_num_logit_rows: 5 },
            ..RunnerOptions::default()
        };
        let fingerprint = Fingerprint::of_model(&checkpoint, None);
        let runner = ModelRunner::new(model, fingerprint, options).expect("room for it");
        let tokenizer = tokenizer_of(answer.logits[0].len());
        let core = GenerationCore::new(Box::new(runner), tokenizer, CoreOptions::default());
        let core = core.expect("a sound runner");
        let engine = Engine::start(&core, EngineOptions::default()).expect("a sound engine");
        let prompt = &answer.tokens;
        let stream = engine.handle().submit(scoring(prompt, 3)).expect("a sound request");
        let found = scores(&events(stream), 0);
        assert_eq!(found.len(), prompt.len() - 1);
        for (position, found) in found.iter().enumerate() {
            let logits = &answer.logits[position];
            let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
            let expected = |id: u32| logits[id as usize] - sum.ln();
            let chosen = prompt[position + 1];
            let name = path.display();
            assert!((f64::from(found.logprob) - expected(chosen)).abs() < 1e-3, "{name}");
            let better = logits.iter().filter(|&&it| it > logits[chosen as usize]).count();
            assert_eq!(found.rank, 1 + better, "{name}");
            assert_eq!(found.top.len(), 3);
            for &(id, logprob) in &found.top {
                assert!((f64::from(logprob) - expected(id)).abs() < 1e-3, "{name}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn prompt_logprobs_equal_generation_logprobs_under_load(
        prompts in prop::collection::vec((prop::collection::vec(2u32..9, 1..25), any::<bool>()), 1..10),
        num_blocks in 16usize..30,
        num_choices in 1usize..3,
    ) {
        let engine = engine(runner(num_blocks));
        let mut params = greedy(12);
        params.sampling.logprobs = Some(2);
        let said: Vec<_> = prompts.iter().map(|(prompt, _)| alone(prompt, &params)).collect();
        let streams: Vec<_> = prompts.iter().zip(&said).map(|((prompt, goes_on), said)| {
            let text = [prompt.as_slice(), &said.tokens].concat();
            let request = Request { num_choices, ..scoring(&text, 2) };
            let request = match goes_on {
                true => Request { generation: params.clone(), ..request },
                false => request,
            };
            engine.handle().submit(request).expect("a sound request")
        }).collect();
        for (((prompt, goes_on), said), stream) in prompts.iter().zip(&said).zip(streams) {
            let events = events(stream);
            let text = [prompt.as_slice(), &said.tokens].concat();
            for choice in 0..num_choices {
                let scores = scores(&events, choice);
                prop_assert_eq!(scores.len(), text.len() - 1);
                prop_assert_eq!(&scores[prompt.len() - 1..], &said.logprobs);
                let (answer, end) = put_together(&events, choice);
                let expected = if *goes_on { alone(&text, &params).tokens } else { Vec::new() };
                prop_assert_eq!(answer.tokens, expected);
                prop_assert_eq!((end.reason.name(), end.cached_tokens), ("length", 0));
            }
        }
        let blocks = at_rest(&engine).blocks;
        prop_assert_eq!(blocks.num_free + blocks.num_cached, num_blocks);
    }
}

#[test]
fn a_prompt_of_one_token_has_no_logprobs() {
    let engine = engine(runner(16));
    let stream = engine.handle().submit(scoring(&[5], 1)).expect("a sound request");
    let events = events(stream);
    assert!(scores(&events, 0).is_empty());
    assert_eq!(put_together(&events, 0).1.generated_tokens, 0);
    assert_eq!(at_rest(&engine).generation_tokens, 0);
}

#[test]
fn a_request_for_no_tokens_and_no_logprobs_is_rejected() {
    let engine = engine(runner(16));
    let request = Request { prompt_logprobs: None, ..scoring(&[5, 6], 1) };
    let refused = engine.handle().submit(request).err();
    let Some(SubmitError::Refused(error)) = refused else { panic!("it was accepted") };
    assert!(error.to_string().contains("max_tokens"), "{error}");
}

#[test]
fn nan_logits_during_prefill_fail_the_request() {
    let runner = runner(16).with_hook(|pass| match pass {
        0 => Outcome::GivesNan,
        _ => Outcome::Runs,
    });
    let engine = engine(runner);
    let stream = engine.handle().submit(scoring(&[5; 40], 1)).expect("a sound request");
    assert!(failure(stream).contains("logit"));
    let stream = engine.handle().submit(scoring(&[5; 40], 1)).expect("a sound request");
    assert_eq!(scores(&events(stream), 0).len(), 39);
    assert_eq!(at_rest(&engine).num_running, 0);
}
