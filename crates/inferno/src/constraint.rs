//! Compiling grammars outside of the server.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use inferno_chat::{AnswerSetupError, GRAMMAR_STACK_BYTES, GrammarCompiler};
use inferno_tokenizer::Tokenizer;

use crate::Error;

/// Runs `compile` with a grammar compiler for the first `vocab_size` tokens of `tokenizer`, on a thread with the stack
/// that compiling requires.
///
/// **Errors**: those of `compile`; [`Error::Thread`].
pub(crate) fn with_grammars<T: Send>(
    tokenizer: &Arc<Tokenizer>,
    vocab_size: usize,
    compile: impl FnOnce(&GrammarCompiler) -> Result<T, AnswerSetupError> + Send,
) -> Result<T, Error> {
    let grammars = GrammarCompiler::new(Arc::clone(tokenizer), vocab_size);
    let compiled = thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(GRAMMAR_STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || compile(&grammars)).map_err(Error::Thread)?;
        Ok::<_, Error>(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    Ok(compiled?.map_err(Box::new)?)
}
