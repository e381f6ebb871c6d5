//! Matching text with grammars, for tests.

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use toktrie::ApproximateTokEnv;

/// Whether the whole text matches a grammar in Lark, of which each byte is a token.
///
/// **Errors**: a grammar that does not compile.
pub(crate) fn matches(lark: &str, text: &str) -> Result<bool, String> {
    let environment = ApproximateTokEnv::single_byte_env();
    let mut factory = ParserFactory::new_simple(&environment).map_err(|error| error.to_string())?;
    factory.quiet();
    let parser = factory.create_parser(TopLevelGrammar::from_lark(lark.to_owned()));
    let mut matcher = Matcher::new(Ok(parser.map_err(|error| error.to_string())?));
    let tokens: Vec<_> = text.bytes().map(u32::from).collect();
    let num_consumed = matcher.try_consume_tokens(&tokens).map_err(|error| error.to_string())?;
    Ok(num_consumed == tokens.len() && matcher.is_accepting().map_err(|error| error.to_string())?)
}
