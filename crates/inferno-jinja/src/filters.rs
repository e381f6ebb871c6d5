//! Jinja2's filters, as a table by name.

mod html;
mod number;
mod selection;
mod sequence;
mod sort;
mod text;

pub(crate) use html::escaped;

use crate::arguments::Arguments;
use crate::error::Result;
use crate::json::to_json;
use crate::runtime::Runtime;
use crate::value::Value;

/// A filter: called with its value and further arguments.
pub(crate) type Filter = fn(&mut Runtime, Arguments) -> Result<Value>;

/// The filter of this name.
pub(crate) fn find(name: &str) -> Option<Filter> {
    FILTERS.iter().find(|(known, _)| *known == name).map(|(_, filter)| *filter)
}

const FILTERS: &[(&str, Filter)] = &[
    ("abs", number::abs),
    ("attr", sequence::attr),
    ("batch", sequence::batch),
    ("capitalize", text::capitalize),
    ("center", text::center),
    ("count", sequence::length),
    ("d", text::default),
    ("default", text::default),
    ("dictsort", sort::dictsort),
    ("e", html::escape),
    ("escape", html::escape),
    ("filesizeformat", number::filesizeformat),
    ("first", sequence::first),
    ("float", number::float),
    ("forceescape", html::force_escape),
    ("format", text::format),
    ("groupby", sort::groupby),
    ("indent", text::indent),
    ("int", number::int),
    ("items", sequence::items),
    ("join", sequence::join),
    ("last", sequence::last),
    ("length", sequence::length),
    ("list", sequence::list),
    ("lower", text::lower),
    ("map", selection::map),
    ("max", sort::max),
    ("min", sort::min),
    ("reject", |r, a| selection::select(r, a, false, false)),
    ("rejectattr", |r, a| selection::select(r, a, true, false)),
    ("replace", text::replace),
    ("reverse", sequence::reverse),
    ("round", number::round),
    ("safe", html::safe),
    ("select", |r, a| selection::select(r, a, false, true)),
    ("selectattr", |r, a| selection::select(r, a, true, true)),
    ("slice", sequence::slice),
    ("sort", sort::sort),
    ("string", text::string),
    ("striptags", html::striptags),
    ("sum", sequence::sum),
    ("title", text::title),
    ("tojson", to_json),
    ("trim", text::trim),
    ("truncate", text::truncate),
    ("unique", selection::unique),
    ("upper", text::upper),
    ("urlencode", html::urlencode),
    ("wordcount", text::wordcount),
    ("xmlattr", html::xmlattr),
];
