//! Filters that order items.

use std::rc::Rc;

use super::selection::Lookup;
use crate::arguments::{Arguments, flag};
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::syntax_tree::Comparison;
use crate::value::{Sequence, Value, ViewKind};

pub(super) fn sort(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let parameters = ["reverse", "case_sensitive", "attribute"];
    let (value, [is_reversed, case_sensitive, attribute]) =
        arguments.bind_filter("sort", parameters)?;
    let lookup = Lookup::new(attribute, case_sensitive);
    let mut keyed = Vec::new();
    for item in runtime.items(&value)? {
        keyed.push((lookup.of_several(runtime, &item)?, item));
    }
    let sorted = runtime.sorted(keyed, flag(is_reversed))?;
    runtime.list(sorted)
}

/// The entries of a dict as pairs, ordered by key or by value.
pub(super) fn dictsort(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let parameters = ["case_sensitive", "by", "reverse"];
    let (value, [case_sensitive, by, is_reversed]) =
        arguments.bind_filter("dictsort", parameters)?;
    let position = match by.as_ref().map(Value::as_text) {
        None => 0,
        Some(Some(by)) if &**by == "key" => 0,
        Some(Some(by)) if &**by == "value" => 1,
        _ => return Err(Error::failed("You can only sort by either \"key\" or \"value\"")),
    };
    let Value::Dict(dict) = value else {
        return Err(value.misuse(|found| format!("'{found}' object has no attribute 'items'")));
    };
    let lookup = Lookup::new(Some(Value::Int(position)), case_sensitive);
    let mut keyed = Vec::new();
    for item in runtime.items(&Value::View(ViewKind::Items, dict))? {
        keyed.push((lookup.of(runtime, &item)?, item));
    }
    let sorted = runtime.sorted(keyed, flag(is_reversed))?;
    runtime.list(sorted)
}

/// Pairs `(grouper, list)` of the items with an equal attribute, ordered by the attribute.
pub(super) fn groupby(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    let parameters = ["attribute", "default", "case_sensitive"];
    let (value, [attribute, default, case_sensitive]) =
        arguments.bind_filter("groupby", parameters)?;
    if attribute.is_none() {
        return Err(Error::failed("groupby() missing 1 required positional argument: 'attribute'"));
    }
    let lookup = Lookup::new(attribute, case_sensitive).or(default);
    let exact = lookup.with_case();
    let mut keyed = Vec::new();
    for item in runtime.items(&value)? {
        keyed.push((lookup.of(runtime, &item)?, item));
    }
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for item in runtime.sorted(keyed, false)? {
        let found = lookup.of(runtime, &item)?;
        match groups.last_mut() {
            Some((last, group)) if runtime.equal(last, &found)? => group.push(item),
            _ => groups.push((found, vec![item])),
        }
    }
    let mut named = Vec::new();
    for (_, group) in groups {
        let grouper = exact.of(runtime, &group[0])?;
        let pair = vec![grouper, runtime.list(group)?];
        runtime.budget.allocate_items(2)?;
        named.push(Value::Tuple(Rc::new(Sequence::named(pair, &["grouper", "list"]))));
    }
    runtime.list(named)
}

pub(super) fn min(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    extreme(runtime, arguments, Comparison::Less)
}

pub(super) fn max(runtime: &mut Runtime, arguments: Arguments) -> Result<Value> {
    extreme(runtime, arguments, Comparison::Greater)
}

/// The first item for which the comparison with all others holds.
fn extreme(runtime: &mut Runtime, arguments: Arguments, comparison: Comparison) -> Result<Value> {
    let (value, [case_sensitive, attribute]) =
        arguments.bind_filter("min", ["case_sensitive", "attribute"])?;
    let lookup = Lookup::new(attribute, case_sensitive);
    let mut best: Option<(Value, Value)> = None;
    for item in runtime.items(&value)? {
        let found = lookup.of(runtime, &item)?;
        let is_better = match &best {
            None => true,
            Some((best, _)) => runtime.holds(&found, comparison, best)?,
        };
        if is_better {
            best = Some((found, item));
        }
    }
    let none = || Value::undefined("No aggregated item, sequence was empty.");
    Ok(best.map_or_else(none, |(_, item)| item))
}

impl Runtime {
    /// The items ordered by their keys; equal ones keep their order.
    ///
    /// Implemented here as a merge sort, because the standard library's sorts need a total order, which floats with NaN
    /// do not have, and cannot return errors.
    pub(crate) fn sorted(
        &mut self,
        mut keyed: Vec<(Value, Value)>,
        is_reversed: bool,
    ) -> Result<Vec<Value>> {
        let mut width = 1;
        while width < keyed.len() {
            self.budget.work(keyed.len())?;
            let mut merged = Vec::with_capacity(keyed.len());
            for pair in keyed.chunks(width * 2) {
                let (mut left, mut right) = pair.split_at(width.min(pair.len()));
                while let (Some(a), Some(b)) = (left.first(), right.first()) {
                    let takes_right = match is_reversed {
                        false => self.holds(&b.0, Comparison::Less, &a.0)?,
                        true => self.holds(&a.0, Comparison::Less, &b.0)?,
                    };
                    let taken = if takes_right { &mut right } else { &mut left };
                    merged.push(taken[0].clone());
                    *taken = &taken[1..];
                }
                merged.extend_from_slice(left);
                merged.extend_from_slice(right);
            }
            keyed = merged;
            width *= 2;
        }
        Ok(keyed.into_iter().map(|(_, item)| item).collect())
    }
}
