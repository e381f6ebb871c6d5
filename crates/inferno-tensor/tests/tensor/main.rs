//! Formats of tensors, their encoding, and views.

mod accuracy;
mod dtype;
mod encode;
mod formats;
mod importance;
mod support;
mod views;
