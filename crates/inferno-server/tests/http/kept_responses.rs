//! `/v1/responses` from memory: conversations that go on from a response, and responses that are read again or forgotten.

use inferno_server::{Limits, ServerOptions};
use serde_json::{Value, json};

use crate::client::{get, post, send};
use crate::server::{shared, start};

const PATH: &str = "/v1/responses";

fn ask(input: Value) -> Value {
    json!({"input": input, "temperature": 0, "max_output_tokens": 12, "reasoning": {"effort": "none"}})
}

fn path_of(response: &Value) -> String {
    format!("{PATH}/{}", response["id"].as_str().expect("it has an id"))
}

fn text(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"].as_str().expect("it has a text")
}

#[test]
fn a_conversation_that_goes_on_is_the_same_as_one_that_comes_whole() {
    let question = |text: &str| json!({"role": "user", "content": text});
    let first = post(shared(), PATH, &ask(json!("Tell me a story."))).ok();
    assert_eq!(first["store"], true);
    let mut second = ask(json!([question("And then?")]));
    second["previous_response_id"] = first["id"].clone();
    let second = post(shared(), PATH, &second).ok();
    assert_eq!(second["previous_response_id"], first["id"]);
    let mut third = ask(json!("Are you sure?"));
    third["previous_response_id"] = second["id"].clone();
    third["stream"] = json!(true);
    let events = post(shared(), PATH, &third).events();
    let last: Value = serde_json::from_str(&events.last().unwrap().data).unwrap();
    let third = &last["response"];

    let mut items = vec![question("Tell me a story.")];
    for (told, further) in [(&first, "And then?"), (&second, "Are you sure?")] {
        items.extend(told["output"].as_array().unwrap().iter().cloned());
        items.push(question(further));
    }
    let whole = post(shared(), PATH, &ask(json!(items))).ok();
    assert_eq!(text(third), text(&whole));
    assert_eq!(third["usage"]["input_tokens"], whole["usage"]["input_tokens"]);
    // What was streamed is kept like what was not.
    assert_eq!(get(shared(), &path_of(third)).ok(), *third);
}

#[test]
fn instructions_hold_for_one_response() {
    let mut first = ask(json!("Hello!"));
    first["instructions"] = json!("Answer in one word.");
    let first = post(shared(), PATH, &first).ok();
    let mut second = ask(json!("Why?"));
    second["previous_response_id"] = first["id"].clone();
    let second = post(shared(), PATH, &second).ok();
    let mut whole = vec![json!({"role": "user", "content": "Hello!"})];
    whole.extend(first["output"].as_array().unwrap().iter().cloned());
    whole.push(json!({"role": "user", "content": "Why?"}));
    let whole = post(shared(), PATH, &ask(json!(whole))).ok();
    assert_eq!(second["usage"]["input_tokens"], whole["usage"]["input_tokens"]);
}

#[test]
fn a_kept_response_is_read_again_and_forgotten() {
    let response = post(shared(), PATH, &ask(json!("Hello!"))).ok();
    let path = path_of(&response);
    assert_eq!(get(shared(), &path).ok(), response);
    assert_eq!(get(shared(), &format!("{path}?stream=false")).ok(), response);
    assert_eq!(get(shared(), &format!("{path}?stream=true")).error(400)["param"], "stream=true");
    let deleted = send(shared(), "DELETE", &path, &[], "").ok();
    assert_eq!(deleted, json!({"id": response["id"], "object": "response", "deleted": true}));
    assert_eq!(send(shared(), "DELETE", &path, &[], "").error(404)["code"], "response_not_found");
    assert_eq!(get(shared(), &path).error(404)["code"], "response_not_found");
    get(shared(), &format!("{PATH}/%ff")).error(400);
    let mut further = ask(json!("And then?"));
    further["previous_response_id"] = response["id"].clone();
    let error = post(shared(), PATH, &further).error(400);
    assert_eq!(error["param"], "previous_response_id");
    assert_eq!(error["code"], "previous_response_not_found");
}

#[test]
fn what_is_not_to_be_kept_is_not() {
    let mut asked = ask(json!("Hello!"));
    asked["store"] = json!(false);
    let response = post(shared(), PATH, &asked).ok();
    assert_eq!(response["store"], false);
    get(shared(), &path_of(&response)).error(404);
}

#[test]
fn a_server_that_keeps_nothing_says_so() {
    let limits = Limits { max_stored_bytes: 0, ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() });
    let response = post(server.address, PATH, &ask(json!("Hello!"))).ok();
    assert_eq!(response["store"], false);
    get(server.address, &path_of(&response)).error(404);
    let mut asked = ask(json!("Hello!"));
    asked["store"] = json!(true);
    assert_eq!(post(server.address, PATH, &asked).error(400)["param"], "store");
    server.stop();
    server.join();
}
