//! Templates of real models, and what Jinja2 makes of them.
//!
//! `INFERNO_ORACLE` names the folder that holds them; without it there is nothing to check.

use crate::shared::{real_template, template_paths};
use inferno_chat::ChatRequest;

#[test]
fn templates_of_real_models_render_to_the_letter() {
    for path in template_paths() {
        let (template, answers) = real_template(&path);
        for (case, fields) in answers["inputs"].as_object().unwrap() {
            let request = ChatRequest::from_json(fields.as_object().unwrap().clone()).unwrap();
            let rendered = template.render(&request);
            let place = format!("{}: {case}", path.display());
            match answers["expected"][case]["ok"].as_str() {
                Some(expected) => assert_eq!(rendered.unwrap(), expected, "{place}"),
                None => assert!(rendered.is_err(), "{place}: {rendered:?}"),
            }
        }
    }
}
