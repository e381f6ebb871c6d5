//! Reading, validating and writing files.

mod counting_allocator;
mod fixtures;
mod invalid_headers;
mod invalid_tensors;
mod metadata;
mod mutations;
mod oracle;
mod raw;
mod shards;
mod writer;
