//! Generation: sampler, sequences, KV block pool, sessions, metrics.
