//! Speculative decoding does not change answers.

use inferno_engine::EngineOptions;
use inferno_server::ServerOptions;
use serde_json::json;

use crate::client::{metric, post};
use crate::fixtures::{chat_request, conversations, stories};
use crate::server::{shared, start_with};

#[test]
fn drafts_do_not_change_answers() {
    let options = EngineOptions { num_speculative_tokens: 8, ..EngineOptions::default() };
    let server = start_with(ServerOptions::default(), options);
    server.wait_until_ready();
    let ask = |path: &str, request: &serde_json::Value| {
        let [with, without] =
            [server.address, shared()].map(|address| post(address, path, request).ok());
        assert_eq!(with["choices"], without["choices"]);
        with
    };
    for story in stories() {
        let answer = ask(
            "/v1/completions",
            &json!({"prompt": story["prompt"], "temperature": 0, "max_tokens": story["max_tokens"]}),
        );
        assert_eq!(answer["choices"][0]["text"], story["text"]);
        ask(
            "/v1/completions",
            &json!({
                "prompt": story["prompt"], "temperature": 1, "seed": 3, "n": 2, "max_tokens": 60,
                "ignore_eos": true, "logprobs": 2, "stop": "the end",
            }),
        );
    }
    // Call ids differ between answers.
    for conversation in conversations().iter().filter(|it| it["kind"] != "tool_call") {
        ask("/v1/chat/completions", &chat_request(conversation));
    }
    let structured = json!({
        "prompt": "Numbers:", "temperature": 0, "max_tokens": 50,
        "structured_outputs": {"regex": "( one, two, three,){4} done"},
    });
    ask("/v1/completions", &structured);
    // A constraint that repeats one word.
    let repeated = json!({
        "prompt": "Once", "temperature": 0, "max_tokens": 40, "logit_bias": {"300": 100}, "ignore_eos": true,
    });
    ask("/v1/completions", &repeated);
    let [rounds, drafted, accepted] = ["drafts", "draft_tokens", "accepted_tokens"]
        .map(|what| metric(server.address, &format!("vllm:spec_decode_num_{what}_total")));
    assert!(20.0 < accepted && accepted <= drafted, "{accepted} of {drafted}");
    assert!(0.0 < rounds && rounds <= drafted, "{drafted} in {rounds}");
    // Acceptance cannot rise with the position in the draft.
    let [first, second] = [0, 1].map(|place| {
        let page = crate::client::get(server.address, "/metrics").body;
        let name = "vllm:spec_decode_num_accepted_tokens_per_pos_total";
        let place = format!("position=\"{place}\"");
        let line = page.lines().find(|line| line.starts_with(name) && line.contains(&place));
        line.unwrap().rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    });
    assert!(accepted >= first + second && first >= second && second > 0.0);
    server.stop();
    server.join();
}
