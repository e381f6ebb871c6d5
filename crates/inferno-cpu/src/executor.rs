//! What operations are executed with.

use crate::isa::Level;
use crate::threads::ThreadPool;

/// An instruction set and the threads to use it on.
#[derive(Clone, Copy)]
pub(crate) struct Executor<'a> {
    pub(crate) level: Level,
    pub(crate) pool: &'a ThreadPool,
}
