//! Rendered templates, their limits, and damaged templates.

mod jinja2;
mod limits;
mod properties;
