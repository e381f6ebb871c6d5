//! Stored responses: continued, retrieved and deleted.

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
fn a_continued_conversation_equals_one_sent_whole() {
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
    // Streamed responses are stored as well.
    assert_eq!(get(shared(), &path_of(third)).ok(), *third);
}

#[test]
fn instructions_apply_to_one_response() {
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
fn a_stored_response_is_retrieved_and_deleted() {
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
fn input_items_are_listed_in_pages() {
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let gave = json!({"type": "function_call_output", "call_id": "c", "output": "4"});
    let mine =
        json!({"id": "mine", "role": "user", "content": [{"type": "input_text", "text": "So?"}]});
    let first = post(shared(), PATH, &ask(json!([call, gave, mine]))).ok();
    let mut second = ask(json!("And then?"));
    second["previous_response_id"] = first["id"].clone();
    let second = post(shared(), PATH, &second).ok();

    let path = format!("{}/input_items", path_of(&second));
    let all = get(shared(), &format!("{path}?order=asc&limit=100")).ok();
    assert_eq!((&all["object"], &all["has_more"]), (&json!("list"), &json!(false)));
    let items = all["data"].as_array().unwrap();
    let kinds: Vec<_> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["function_call", "function_call_output", "message", "message", "message"]);
    assert_eq!(items[1]["output"], "4");
    assert_eq!(items[2]["id"], "mine");
    assert_eq!(items[3], first["output"][0]);
    assert_eq!(items[4]["content"], json!([{"type": "input_text", "text": "And then?"}]));
    assert!(items.iter().all(|item| item["id"].is_string() && item["status"] == "completed"
        || *item == first["output"][0]));

    let newest_first = get(shared(), &path).ok();
    let mut reversed = newest_first["data"].as_array().unwrap().clone();
    reversed.reverse();
    assert_eq!(reversed, *items);
    assert_eq!(
        (&newest_first["first_id"], &newest_first["last_id"]),
        (&items[4]["id"], &items[0]["id"])
    );
    let page = get(shared(), &format!("{path}?order=asc&limit=2&after=mine")).ok();
    assert_eq!(page["data"], json!(items[3..5]));
    let page = get(shared(), &format!("{path}?limit=2")).ok();
    assert_eq!((&page["data"][1], &page["has_more"]), (&items[3], &json!(true)));
    let page = get(shared(), &format!("{path}?limit=3&after=mine")).ok();
    assert_eq!((&page["data"][0], &page["has_more"]), (&items[1], &json!(false)));
}

#[test]
fn invalid_pages_are_rejected() {
    let path = path_of(&post(shared(), PATH, &ask(json!("Hello!"))).ok());
    for (query, param) in [("limit=0", "limit"), ("limit=101", "limit"), ("after=nobody", "after")]
    {
        let error = get(shared(), &format!("{path}/input_items?{query}")).error(400);
        assert_eq!(error["param"], param);
    }
    for query in ["limit=many", "order=up", "before=x", "include%5B%5D=x", "limit=1&limit=2"] {
        get(shared(), &format!("{path}/input_items?{query}")).error(400);
    }
    let error = get(shared(), &format!("{PATH}/resp_nobody/input_items")).error(404);
    assert_eq!(error["code"], "response_not_found");
    get(shared(), &format!("{PATH}/%ff/input_items")).error(400);
}

#[test]
fn store_false_is_honored() {
    let mut asked = ask(json!("Hello!"));
    asked["store"] = json!(false);
    let response = post(shared(), PATH, &asked).ok();
    assert_eq!(response["store"], false);
    get(shared(), &path_of(&response)).error(404);
}

#[test]
fn a_server_without_a_store_says_so() {
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
