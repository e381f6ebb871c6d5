//! The operations of the CPU backend, on every instruction set of this processor.

mod attention;
mod bf16;
mod candidates;
mod cases;
mod elementwise;
mod experts;
mod gated;
mod kv_cache;
mod many_rows;
mod normed;
mod products;
mod recurrent;
mod scratch;
mod selective_scan;
