//! Compiling grammars outside of the server.

use std::panic::resume_unwind;
use std::thread;

use inferno_chat::{AnswerSetupError, GRAMMAR_STACK_BYTES, GrammarCompiler};

use crate::Error;

/// Runs `compile` with `grammars` on a thread with the stack that compiling requires.
///
/// **Errors**: those of `compile`; [`Error::Thread`].
pub(crate) fn with_grammars<T: Send>(
    grammars: &GrammarCompiler,
    compile: impl FnOnce(&GrammarCompiler) -> Result<T, AnswerSetupError> + Send,
) -> Result<T, Error> {
    let compiled = thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(GRAMMAR_STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || compile(grammars)).map_err(Error::Thread)?;
        Ok::<_, Error>(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    Ok(compiled?.map_err(Box::new)?)
}
