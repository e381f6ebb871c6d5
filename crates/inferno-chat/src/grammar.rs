//! Compiles grammars into constraints on tokens, with llguidance.

mod bounds;
mod numbers;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use inferno_tokenizer::{ConstraintError, ConstraintState, TokenConstraint, TokenMask, Tokenizer};
use llguidance::api::{GrammarInit, ParserLimits, TopLevelGrammar};
use llguidance::earley::lexerspec::LexerSpec;
use llguidance::{ParserFactory, TokenParser, panic_utils};
use numbers::{NumberLength, NumberTokens};
use thiserror::Error;
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

/// Work that the compiler may spend on a grammar's regular expressions: about 100 ms.
const COMPILE_FUEL: u64 = 1_000_000;
/// Work that one mask may spend on regular expressions: about 20 ms.
const MASK_FUEL: u64 = 200_000;
/// States of the lexer, each about 1 KiB.
const MAX_LEXER_STATES: usize = 150_000;
/// Bytes of the lexer, which all choices of a request share; it grows with the input that they try.
const MAX_LEXER_BYTES: usize = 128 << 20;
/// Parser items of all choices of a request, each about 16 bytes.
const MAX_ITEMS: usize = 4 << 20;

/// Stack that [`GrammarCompiler::compile`] needs, in bytes.
pub const GRAMMAR_STACK_BYTES: usize = 64 << 20;

/// Why a grammar cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct GrammarError(pub String);

/// Compiles grammars for one vocabulary.
pub struct GrammarCompiler {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
    /// Created for the first grammar, which takes a while for a large vocabulary.
    factory: OnceLock<Result<ParserFactory, GrammarError>>,
    number_tokens: OnceLock<Arc<NumberTokens>>,
}

impl GrammarCompiler {
    /// Creates a compiler for the vocabulary of a model, whose logits have `vocab_size` entries.
    pub fn new(tokenizer: Arc<Tokenizer>, vocab_size: usize) -> Self {
        Self { tokenizer, vocab_size, factory: OnceLock::new(), number_tokens: OnceLock::new() }
    }

    /// Compiles a grammar in llguidance's dialect of Lark. Numbers in JSON have a bounded number of digits.
    ///
    /// Needs [`GRAMMAR_STACK_BYTES`] of stack, and may take seconds.
    ///
    /// **Errors**: a grammar that exceeds a bound; an invalid grammar, with llguidance's message.
    pub fn compile(&self, lark: String) -> Result<Box<dyn TokenConstraint>, GrammarError> {
        bounds::check(&lark).map_err(GrammarError)?;
        let factory = self.factory.get_or_init(|| self.factory());
        let factory = factory.as_ref().map_err(GrammarError::clone)?;
        let numbers = lark.contains("%json").then(|| {
            let words = || (0..self.vocab_size()).map(|id| self.word(id));
            let tokens = self.number_tokens.get_or_init(|| Arc::new(NumberTokens::of(words())));
            NumberLength::new(Arc::clone(tokens))
        });
        let grammar = GrammarInit::Serialized(TopLevelGrammar::from_lark(lark));
        let parser = panic_utils::catch_unwind(AssertUnwindSafe(|| {
            let environment = Some(factory.tok_env().clone());
            let (grammar, lexer) = grammar.to_internal(environment, factory.limits().clone())?;
            if let Some(error) = lexer_error(&lexer, factory.limits().clone()) {
                return Ok(Err(GrammarError(error)));
            }
            let grammar = GrammarInit::Internal(grammar, lexer);
            let mut parser = factory.create_parser_from_init_default(grammar)?;
            parser.start_without_prompt();
            Ok(Ok(parser))
        }));
        let parser = parser.map_err(|error| GrammarError(without_state(&error.to_string())))??;
        let end = self.tokenizer.special_tokens().end_of_generation.iter().copied().collect();
        let num_items = Arc::default();
        Ok(Box::new(Grammar { parser, numbers, num_items, end_of_generation: end }))
    }

    fn vocab_size(&self) -> u32 {
        u32::try_from(self.vocab_size).unwrap_or(u32::MAX)
    }

    fn factory(&self) -> Result<ParserFactory, GrammarError> {
        let tokenizer = &self.tokenizer;
        let special = tokenizer.special_tokens();
        let end = special.eos.or(special.end_of_generation.first().copied());
        let end = end.ok_or_else(|| {
            let message = "the model has no end-of-generation token, which grammars require";
            GrammarError(message.to_owned())
        })?;
        let vocab_size = self.vocab_size();
        let words: Vec<Vec<u8>> = (0..vocab_size).map(|id| self.word(id)).collect();
        let trie = TokTrie::from(&TokRxInfo::new(vocab_size, end), &words);
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new_simple(&environment)
            .map_err(|error| GrammarError(error.to_string()))?;
        factory.quiet();
        let limits = factory.limits_mut();
        limits.initial_lexer_fuel = COMPILE_FUEL;
        limits.step_lexer_fuel = MASK_FUEL;
        limits.max_lexer_states = MAX_LEXER_STATES;
        limits.verbose_errors = false;
        Ok(factory)
    }

    /// The bytes of a token; those of control tokens, which are not text, have a marker in front.
    fn word(&self, id: u32) -> Vec<u8> {
        let bytes = self.tokenizer.token_bytes(id).unwrap_or_default();
        // The delimiters of reasoning and tool calls are text here, as they are in answers.
        let is_hidden = self.tokenizer.decode(&[id], true).is_ok_and(|text| text.is_empty());
        match self.tokenizer.is_special(id) && is_hidden {
            true => [&[TokTrie::SPECIAL_TOKEN_MARKER], &bytes[..]].concat(),
            false => bytes.into_owned(),
        }
    }
}

/// Why a lexer is too complex, if it is. Its first transitions are computed here within the limits, since the parser computes
/// them without any.
fn lexer_error(lexer: &LexerSpec, mut limits: ParserLimits) -> Option<String> {
    let mut automaton = match lexer.to_regex_vec(&mut limits) {
        Ok(automaton) => automaton,
        Err(error) => return Some(format!("it is too complex: {error}")),
    };
    automaton.set_fuel(limits.initial_lexer_fuel);
    let start = automaton.initial_state(&lexer.all_lexemes());
    (0..=u8::MAX).find_map(|byte| {
        automaton.transition(start, byte);
        automaton.get_error().map(|error| format!("it is too complex: {error}"))
    })
}

/// The state of one choice in its grammar.
struct Grammar {
    /// Its lexer is shared by all forks.
    parser: TokenParser,
    /// Length of the number at the end, if the grammar has numbers in JSON.
    numbers: Option<NumberLength>,
    /// Parser items of all forks.
    num_items: Arc<AtomicUsize>,
    end_of_generation: Vec<u32>,
}

impl Grammar {
    /// Accounts for what a token added to the parser.
    ///
    /// **Errors**: more memory than one request may use.
    fn check_memory(&self, num_items_before: usize) -> Result<(), ConstraintError> {
        let added = self.parser.parser_stats().all_items.saturating_sub(num_items_before);
        let num_items = self.num_items.fetch_add(added, Ordering::Relaxed) + added;
        if num_items > MAX_ITEMS || self.parser.parser.lexer_stats().num_bytes > MAX_LEXER_BYTES {
            let message = "the grammar exceeds the memory limit per request; simplify it, or request fewer or shorter \
                           answers";
            return Err(ConstraintError(message.to_owned()));
        }
        Ok(())
    }
}

impl TokenConstraint for Grammar {
    fn fork(&self) -> Box<dyn TokenConstraint> {
        Box::new(Self {
            parser: self.parser.clone(),
            numbers: self.numbers.clone(),
            num_items: Arc::clone(&self.num_items),
            end_of_generation: self.end_of_generation.clone(),
        })
    }

    fn mask(&mut self, allowed: &mut TokenMask) -> Result<(), ConstraintError> {
        let parser = &mut self.parser;
        let mask = panic_utils::catch_unwind(AssertUnwindSafe(|| match parser.stopped() {
            true => Ok(parser.token_env.tok_trie().eos_token_set()),
            false => parser.compute_mask(),
        }));
        let mask = mask.map_err(|error| failed(&error))?;
        for (word, &bits) in allowed.words_mut().iter_mut().zip(mask.as_slice()) {
            *word = bits;
        }
        if let Some(numbers) = &self.numbers {
            numbers.restrict(allowed);
        }
        // The grammar knows one end-of-generation token; a model may have several.
        if self.end_of_generation.iter().any(|&token| mask.is_allowed(token)) {
            self.end_of_generation.iter().for_each(|&token| allowed.allow(token));
        }
        Ok(())
    }

    fn accept(&mut self, token: u32) -> Result<ConstraintState, ConstraintError> {
        if self.end_of_generation.contains(&token) {
            return Ok(ConstraintState::Complete);
        }
        let num_items = self.parser.parser_stats().all_items;
        let parser = &mut self.parser;
        panic_utils::catch_unwind(AssertUnwindSafe(|| {
            parser.consume_token(token)?;
            parser.check_stop()
        }))
        .map_err(|error| failed(&error))?;
        self.check_memory(num_items)?;
        if let Some(numbers) = &mut self.numbers {
            numbers.push(self.parser.token_env.tok_trie().token(token));
        }
        Ok(match self.parser.stopped() {
            true => ConstraintState::Complete,
            false => ConstraintState::Open,
        })
    }
}

fn failed(error: &impl std::fmt::Display) -> ConstraintError {
    ConstraintError(without_state(&error.to_string()))
}

/// An error message without the parser's state and the backtrace.
fn without_state(error: &str) -> String {
    let ends = ["\n<state>", "\n<backtrace>"].map(|tag| error.find(tag));
    let end = ends.into_iter().flatten().min().unwrap_or(error.len());
    error[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_backtrace_are_removed_from_messages() {
        assert_eq!(
            without_state("at 1(2): no such rule\n   1 | start: a"),
            "at 1(2): no such rule\n   1 | start: a"
        );
        assert_eq!(
            without_state("panic: too large\n<backtrace>\n   0: main\n</backtrace>"),
            "panic: too large"
        );
        assert_eq!(
            without_state("too many items\n<state>\nTokens: a\n<backtrace>\n"),
            "too many items"
        );
    }
}
