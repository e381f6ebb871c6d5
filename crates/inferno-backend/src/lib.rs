//! The seam between models and devices: the Backend trait, Batch, KvLayout, and a naive reference.
