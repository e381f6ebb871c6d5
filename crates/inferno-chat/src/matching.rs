//! Matching text with grammars, for tests.

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use toktrie::ApproximateTokEnv;

/// Whether the whole text matches a grammar in Lark, of which each byte is a token.
///
/// **Errors**: a grammar that does not compile.
pub(crate) fn matches(lark: &str, text: &str) -> Result<bool, String> {
    Ok(matching(lark, [text])?.contains(&text))
}

/// The texts that match a grammar.
///
/// **Errors**: as [`matches`].
pub(crate) fn matching<'a>(
    lark: &str,
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<&'a str>, String> {
    let environment = ApproximateTokEnv::single_byte_env();
    let mut factory = ParserFactory::new_simple(&environment).map_err(|error| error.to_string())?;
    factory.quiet();
    let parser = factory.create_parser(TopLevelGrammar::from_lark(lark.to_owned()));
    let start = Matcher::new(Ok(parser.map_err(|error| error.to_string())?));
    let mut found = Vec::new();
    for text in texts {
        let mut matcher = start.deep_clone();
        let tokens: Vec<_> = text.bytes().map(u32::from).collect();
        let consumed = matcher.try_consume_tokens(&tokens).map_err(|error| error.to_string())?;
        let is_accepting = matcher.is_accepting().map_err(|error| error.to_string())?;
        if consumed == tokens.len() && is_accepting {
            found.push(text);
        }
    }
    Ok(found)
}
