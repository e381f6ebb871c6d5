//! The CPU backend: one logical 16-lane machine, implemented per instruction set, on a thread pool.
