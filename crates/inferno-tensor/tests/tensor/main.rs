//! Formats of tensors, their encoding, and views.

mod dtype;
mod encode;
mod formats;
mod views;
