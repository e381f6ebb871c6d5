//! Chat templates, from any of the files that repositories store them in.

use std::fs;
use std::path::{Path, PathBuf};

use inferno_gguf::{Metadata, StringArray};
use serde_json::Value;

use super::files::TokenizerFiles;
use crate::{ConvertError, json};

/// Writes the default template and those with a name.
pub(super) fn write(files: &TokenizerFiles, metadata: &mut Metadata) -> Result<(), ConvertError> {
    let templates = templates(files)?;
    let mut names = StringArray::default();
    for (name, template) in &templates {
        match name.as_str() {
            "default" => {}
            name => {
                metadata.insert(format!("tokenizer.chat_template.{name}"), template.as_str());
                names.push(name);
            }
        }
    }
    if !names.is_empty() {
        metadata.insert("tokenizer.chat_templates", names);
    }
    if let Some((_, template)) = templates.iter().find(|(name, _)| name == "default") {
        metadata.insert("tokenizer.chat_template", template.as_str());
    }
    Ok(())
}

type Templates = Vec<(String, String)>;

/// A template, or a list of templates with names.
fn named(template: &Value) -> Templates {
    if let Some(template) = template.as_str() {
        return vec![("default".to_owned(), template.to_owned())];
    }
    let entries = template.as_array().map(Vec::as_slice).unwrap_or_default();
    let entries = entries.iter().filter_map(|entry| {
        Some((identifier(entry["name"].as_str()?), entry["template"].as_str()?.to_owned()))
    });
    entries.collect()
}

/// The templates of the first of these that has any, as in transformers: files of templates, `tokenizer_config.json`,
/// and the `chat_template.json` of older processors.
fn templates(files: &TokenizerFiles) -> Result<Templates, ConvertError> {
    let templates = in_files(&files.folder)?;
    if !templates.is_empty() {
        return Ok(templates);
    }
    let in_config = files.config.as_ref().and_then(|config| config.get("chat_template"));
    if let Some(template) = in_config.filter(|template| !template.is_null()) {
        return Ok(named(template));
    }
    let object = json::read_object(&files.folder.join("chat_template.json"))?;
    Ok(object.and_then(|object| object.get("chat_template").map(named)).unwrap_or_default())
}

/// `chat_template.jinja`, and the files in `additional_chat_templates`.
fn in_files(folder: &Path) -> Result<Templates, ConvertError> {
    let mut templates = Templates::new();
    if let Some(template) = json::read_text(&folder.join("chat_template.jinja"))? {
        templates.push(("default".to_owned(), template));
    }
    let further = fs::read_dir(folder.join("additional_chat_templates"));
    let paths = further.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_template = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jinja");
    let mut paths: Vec<_> = paths.filter(is_template).collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(template) = json::read_text(&path)? {
            templates.push((identifier(name), template));
        }
    }
    Ok(templates)
}

/// A name as a part of a metadata key.
fn identifier(name: &str) -> String {
    name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect()
}
