//! Grammars: which tokens may come next, by llguidance.

use std::sync::{Arc, OnceLock};

use inferno_engine::{ConstraintError, ConstraintState, TokenConstraint, TokenMask};
use inferno_tokenizer::Tokenizer;
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

/// Bytes of a grammar with all schemas in it: nobody can stop its compiling, which takes longer than linear time.
const MAX_GRAMMAR_BYTES: usize = 256 << 10;

/// Compiles grammars for one vocabulary.
pub(crate) struct GrammarCompiler {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
    /// Made for the first grammar, since it takes a while for a large vocabulary.
    factory: OnceLock<Result<ParserFactory, String>>,
}

impl GrammarCompiler {
    pub fn new(tokenizer: Arc<Tokenizer>, vocab_size: usize) -> Self {
        Self { tokenizer, vocab_size, factory: OnceLock::new() }
    }

    /// Compiles a grammar in llguidance's dialect of Lark.
    ///
    /// **Errors**: more than 256 KiB; what is wrong with it, in llguidance's words.
    pub fn compile(&self, lark: String) -> Result<Box<dyn TokenConstraint>, String> {
        if lark.len() > MAX_GRAMMAR_BYTES {
            let len = lark.len();
            return Err(format!(
                "it makes {len} bytes of grammar, but {MAX_GRAMMAR_BYTES} is the most"
            ));
        }
        let factory = self.factory.get_or_init(|| self.factory());
        let factory = factory.as_ref().map_err(String::clone)?;
        let parser = factory.create_parser(TopLevelGrammar::from_lark(lark));
        let matcher = Matcher::new(parser);
        if let Some(error) = matcher.get_error() {
            return Err(told(&error));
        }
        let end = self.tokenizer.special_tokens().end_of_generation.iter().copied().collect();
        Ok(Box::new(Grammar { matcher, end_of_generation: end }))
    }

    fn factory(&self) -> Result<ParserFactory, String> {
        let tokenizer = &self.tokenizer;
        let special = tokenizer.special_tokens();
        let end = special.eos.or(special.end_of_generation.first().copied());
        let end = end.ok_or("the model has no token that ends a text, which grammars need")?;
        let vocab_size = u32::try_from(self.vocab_size).unwrap_or(u32::MAX);
        let words: Vec<Vec<u8>> = (0..vocab_size).map(|id| self.word(id)).collect();
        let trie = TokTrie::from(&TokRxInfo::new(vocab_size, end), &words);
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory =
            ParserFactory::new_simple(&environment).map_err(|error| error.to_string())?;
        factory.quiet();
        Ok(factory)
    }

    /// A token's bytes; control tokens, which are no text, stand behind a mark.
    fn word(&self, id: u32) -> Vec<u8> {
        let bytes = self.tokenizer.token_bytes(id).unwrap_or_default();
        // The marks around thoughts and tool calls are text here, as they are in answers.
        let is_hidden = self.tokenizer.decode(&[id], true).is_ok_and(|text| text.is_empty());
        match self.tokenizer.is_special(id) && is_hidden {
            true => [&[TokTrie::SPECIAL_TOKEN_MARKER], &bytes[..]].concat(),
            false => bytes.into_owned(),
        }
    }
}

/// Where in its grammar one choice is.
struct Grammar {
    matcher: Matcher,
    end_of_generation: Vec<u32>,
}

impl TokenConstraint for Grammar {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        let end_of_generation = self.end_of_generation.clone();
        Box::new(Self { matcher: self.matcher.deep_clone(), end_of_generation })
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        let mask = self.matcher.compute_mask_or_eos().map_err(|error| failed(&error))?;
        for (word, &bits) in allowed.words_mut().iter_mut().zip(mask.as_slice()) {
            *word = bits;
        }
        // The grammar knows one token that ends a text; a model may have several.
        if self.end_of_generation.iter().any(|&token| mask.is_allowed(token)) {
            self.end_of_generation.iter().for_each(|&token| allowed.allow(token));
        }
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        if self.end_of_generation.contains(&token) {
            return Ok(ConstraintState::Complete);
        }
        self.matcher.consume_token(token).map_err(|error| failed(&error))?;
        Ok(match self.matcher.is_stopped() {
            true => ConstraintState::Complete,
            false => ConstraintState::Open,
        })
    }
}

fn failed(error: &impl std::fmt::Display) -> ConstraintError {
    ConstraintError(told(&error.to_string()))
}

/// What of an error is for the caller: not the parser's state, nor where in the program it was.
fn told(error: &str) -> String {
    let ends = ["\n<state>", "\n<backtrace>"].map(|mark| error.find(mark));
    let end = ends.into_iter().flatten().min().unwrap_or(error.len());
    error[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn callers_are_told_what_is_wrong_and_no_more() {
        assert_eq!(
            told("at 1(2): no such rule\n   1 | start: a"),
            "at 1(2): no such rule\n   1 | start: a"
        );
        assert_eq!(
            told("panic: too large\n<backtrace>\n   0: main\n</backtrace>"),
            "panic: too large"
        );
        assert_eq!(told("too many items\n<state>\nTokens: a\n<backtrace>\n"), "too many items");
    }
}
