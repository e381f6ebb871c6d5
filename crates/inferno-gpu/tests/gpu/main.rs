//! The operations of the GPU backend, compared with the reference. Skipped on machines without an adapter, unless
//! `INFERNO_REQUIRE_GPU` is 1.

mod attention;
mod candidates;
mod device;
mod elementwise;
mod experts;
mod kv_cache;
mod products;
mod recurrent;
mod scratch;
