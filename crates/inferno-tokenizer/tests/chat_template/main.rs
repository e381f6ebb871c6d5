//! Chat templates, against Jinja2 as transformers sets it up.

mod jinja;
mod limits;
mod oracle;
mod requests;
