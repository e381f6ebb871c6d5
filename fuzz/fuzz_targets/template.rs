//! Parses any text as a template; what parses is rendered within small limits.

#![no_main]

use inferno_jinja::{Context, Limits, Template};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|data: &[u8]| {
    let source = String::from_utf8_lossy(data);
    let Ok(template) = Template::parse(&source) else {
        return;
    };
    let call =
        json!({"type": "function", "function": {"name": "f", "arguments": {"a": [1, 2.5, null]}}});
    let mut context = Context::new();
    context.fix_time("26 Jul 2024");
    context.set_text("s", "Hello World");
    context.set_list("l", &[json!(3), json!(1), json!("a")]);
    context.set(
        "messages",
        &json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [call]}]),
    );
    let limits = Limits { steps: 100_000, bytes: 4 << 20 };
    if let Ok(text) = template.render(&context, limits) {
        assert!(text.len() <= limits.bytes);
    }
});
