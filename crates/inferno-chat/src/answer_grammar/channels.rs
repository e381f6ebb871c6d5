//! The grammar of answers that are a series of messages with channels.

use super::{Rules, json};
use crate::reasoning::Reasoning;
use crate::{OutputFormat, ToolChoice, Tools};

impl Rules<'_> {
    /// The grammar of an answer: reasoning and remarks, then content in a format or a call; `None` if any text is an answer.
    ///
    /// A prompt ends before the header of a message, or with the start of reasoning.
    pub(super) fn messages(
        mut self,
        format: &OutputFormat,
        tools: Option<&Tools>,
        reasoning: Reasoning,
    ) -> Option<String> {
        let formatted = self.format(format);
        if tools.is_none() && formatted.is_none() {
            return None;
        }
        let [channel, message, end] =
            ["<|channel|>", "<|message|>", "<|end|>"].map(|tag| self.marked(tag));
        let next = self.marked("<|start|>assistant");
        let text = self.up_to("message", "TEXT", "<|end|>");
        // Remarks are content, which must have the format.
        let remarks = if formatted.is_some() { "" } else { " | \"commentary\"" };
        self.add(&format!("remark: {channel} (\"analysis\"{remarks}) {message} {text}"));
        self.needs_text = true;
        let content = formatted.unwrap_or_else(|| "TEXT".to_owned());
        let content = format!("{channel} \"final\" {message} {content} ({end})?");
        let answer = match tools {
            None => content,
            Some(tools) => {
                let calls = self.calls_in_channels(tools, &channel, &message);
                match tools.choice {
                    ToolChoice::Auto => format!("{calls} | {content}"),
                    _ => calls,
                }
            }
        };
        let first = match reasoning {
            Reasoning::Open => format!("{text} {next}"),
            Reasoning::None | Reasoning::Optional => String::new(),
        };
        let start = format!("{first} (remark {next})* ({answer})");
        Some(self.finish(&start))
    }

    /// One call: the recipient comes before the channel or after it.
    fn calls_in_channels(&mut self, tools: &Tools, channel: &str, message: &str) -> String {
        let json_type = self.marked("<|constrain|>json");
        let mut names = Vec::new();
        for tool in tools.callable() {
            let arguments = self.named("arguments", &json(&tool.parameters, tool.strict));
            let to = super::literal(&format!(" to=functions.{}", tool.name));
            let head = format!("({to} {channel} \"commentary\" | {channel} \"commentary\" {to})");
            let body = format!("{head} \" \"? ({json_type} | \"json\")? {message} {arguments}");
            names.push(self.named("call", &body));
        }
        format!("({})", names.join(" | "))
    }
}
