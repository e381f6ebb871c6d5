//! Options that restrict the output to a format.

use inferno_chat::OutputFormat;

use crate::cli::failure::Failure;
use crate::cli::input::read_file;

/// The format of the output.
#[derive(clap::Args)]
#[command(next_help_heading = "Output format")]
pub(crate) struct OutputFormatArgs {
    /// Restrict the output to JSON that matches a JSON schema, given as a file or inline
    #[arg(long, value_name = "FILE|JSON", conflicts_with_all = ["grammar", "regex"])]
    json_schema: Option<String>,
    /// Restrict the output to a grammar in GBNF (llama.cpp) or Lark syntax (llguidance dialect), given as a file or inline
    #[arg(long, value_name = "FILE|GRAMMAR", conflicts_with = "regex")]
    grammar: Option<String>,
    /// Restrict the output to text that matches a regular expression from start to end
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    regex: Option<String>,
}

impl OutputFormatArgs {
    /// Returns the format of the output.
    ///
    /// **Errors**: an unreadable file; a schema that is not a JSON object.
    pub(crate) fn format(&self) -> Result<OutputFormat, Failure> {
        if let Some(schema) = &self.json_schema {
            let is_inline = schema.trim_start().starts_with('{');
            let text = if is_inline { schema.clone() } else { read_file(schema.as_ref())? };
            return match serde_json::from_str(&text) {
                Ok(schema @ serde_json::Value::Object(_)) => {
                    Ok(OutputFormat::StrictJsonSchema(schema))
                }
                Ok(_) => Err(Failure::Usage("--json-schema must be a JSON object".to_owned())),
                Err(error) => {
                    Err(Failure::Usage(format!("--json-schema is not valid JSON: {error}")))
                }
            };
        }
        Ok(match (&self.grammar, &self.regex) {
            (Some(grammar), _) if is_rule(grammar) => OutputFormat::Lark(grammar.clone()),
            (Some(path), _) => OutputFormat::Lark(read_file(path.as_ref())?),
            (None, Some(pattern)) => OutputFormat::Regex(pattern.clone()),
            (None, None) => OutputFormat::Text,
        })
    }
}

/// Returns whether an argument is a grammar rather than a file: `root ::= …` in GBNF, `start: …` in Lark.
fn is_rule(text: &str) -> bool {
    let text = text.trim_start();
    text.contains("::=") || text.contains('\n') || text.starts_with("start:")
}
