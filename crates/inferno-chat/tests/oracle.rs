//! Templates of real models, and what Jinja2 makes of them.
//!
//! `INFERNO_ORACLE` names the folder that holds them; without it there is nothing to check.

use std::fs;
use std::path::{Path, PathBuf};

use inferno_chat::{ChatRequest, ChatTemplate};
use serde_json::Value;

fn templates() -> Vec<PathBuf> {
    let Some(oracle) = std::env::var_os("INFERNO_ORACLE") else {
        println!("INFERNO_ORACLE is not set: nothing to check");
        return Vec::new();
    };
    let folder = Path::new(&oracle).join("templates");
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jinja"))
        .collect();
    assert!(!files.is_empty(), "no template in {}", folder.display());
    files
}

#[test]
fn templates_of_real_models_render_to_the_letter() {
    for path in templates() {
        let answers = fs::read_to_string(path.with_extension("json")).unwrap();
        let answers: Value = serde_json::from_str(&answers).unwrap();
        let special = answers["special"].as_object().unwrap();
        let template = ChatTemplate::new(&fs::read_to_string(&path).unwrap())
            .unwrap()
            .with_special_tokens(
                special.iter().map(|(name, text)| (name.as_str(), text.as_str().unwrap())),
            )
            .with_fixed_time(answers["strftime_now"].as_str().unwrap());
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
