//! Chat templates, against Jinja2 as transformers sets it up.

mod oracle;
mod requests;
