//! Scripted answers: tests of clients, such as coding agents, that no small model could answer sensibly.
//!
//! The engine generates the tokens of the given answers. So they pass through streaming, parsing and usage like any others.

use std::sync::Arc;

use inferno_tokenizer::{
    ConstraintError, ConstraintState, EncodeOptions, TokenConstraint, TokenMask, Tokenizer,
};
use serde::Deserialize;

use crate::chat::ChatJob;

/// Answers to generate instead of the model's own, in the format of the chat template.
#[derive(Debug, Clone, Deserialize)]
pub struct ScriptedAnswers {
    /// Answers to requests with tools, by the number of tool results in the conversation.
    pub answers: Vec<String>,
    /// The answer to requests without tools, and after all others.
    pub otherwise: String,
}

impl ScriptedAnswers {
    /// Parses a JSON object with the fields of this structure.
    ///
    /// **Errors**: invalid JSON, a missing field.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// The constraint that makes the model generate the answer to a request.
    pub(crate) fn constraint(
        &self,
        job: &ChatJob,
        tokenizer: &Tokenizer,
    ) -> Box<dyn TokenConstraint> {
        let num_results = job.messages.iter().filter(|message| message["role"] == "tool").count();
        let scripted = self.answers.get(num_results).filter(|_| job.tools.are_available());
        let answer = scripted.unwrap_or(&self.otherwise);
        let options = EncodeOptions { add_special: false, parse_special: true };
        Box::new(Script { tokens: tokenizer.encode(answer, options).into(), num_generated: 0 })
    }
}

/// Allows exactly these tokens, one after another.
struct Script {
    tokens: Arc<[u32]>,
    num_generated: usize,
}

impl TokenConstraint for Script {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(Self { tokens: Arc::clone(&self.tokens), num_generated: self.num_generated })
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        match self.tokens.get(self.num_generated) {
            Some(&token) => allowed.allow(token),
            None => return Err(ConstraintError("the scripted answer is empty".to_owned())),
        }
        Ok(())
    }

    fn accept(&mut self, _token: u32) -> Result<ConstraintState, ConstraintError> {
        self.num_generated += 1;
        Ok(match self.num_generated < self.tokens.len() {
            true => ConstraintState::Open,
            false => ConstraintState::Complete,
        })
    }
}
