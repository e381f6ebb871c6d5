//! Lines of WGSL that are repeated or left out.
//!
//! Names and directives are replaced before a shader is compiled:
//!
//! | line or word | result |
//! |---|---|
//! | `$NAME` | the value of `NAME` |
//! | `//# if NAME` ... `//# end` | the lines, if `NAME` has a value other than `0` |
//! | `//# if NAME = VALUE` ... `//# end` | the lines, if the value of `NAME` is `VALUE` |
//! | `//# else` | the lines after it, otherwise |
//! | `//# each i COUNT` ... `//# end` | the lines, once for each `$i` below `COUNT`, a name or a number |
//!
//! Directives may contain words such as `$NAME`, too.
//!
//! Repetition instead of a loop lets an array of sums become registers: the drivers' loops are bounded by a counter of
//! their own, which prevents some of them from unrolling.

/// The values of names.
pub(crate) type Values<'a> = [(&'a str, String)];

/// Replaces the directives and names of `source`.
///
/// **Panics** on directives without an end or names without a value: an error in a shader.
pub(crate) fn expand(source: &str, values: &Values<'_>) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let mut out = String::with_capacity(source.len());
    expand_lines(&lines, values, &mut out);
    out
}

fn value<'v>(values: &'v Values<'_>, name: &str) -> Option<&'v str> {
    values.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

fn directive(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//#").map(str::trim)
}

fn expand_lines(lines: &[&str], values: &Values<'_>, out: &mut String) {
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        at += 1;
        let Some(directive) = directive(line) else {
            replace_names(line, values, out);
            out.push('\n');
            continue;
        };
        let (middle, end) = block(&lines[at..]);
        let body = &lines[at..at + middle];
        let otherwise = &lines[(at + middle + 1).min(at + end)..at + end];
        at += end + 1;
        let mut expanded = String::new();
        replace_names(directive, values, &mut expanded);
        let words: Vec<&str> = expanded.split_whitespace().collect();
        match words[..] {
            ["if", name] => {
                let is_set = value(values, name).is_some_and(|value| value != "0");
                expand_lines(if is_set { body } else { otherwise }, values, out);
            }
            ["if", name, "=", expected] => {
                let is_equal = value(values, name) == Some(expected);
                expand_lines(if is_equal { body } else { otherwise }, values, out);
            }
            ["each", name, count] => {
                let count = value(values, count).unwrap_or(count);
                let count: u32 = count.parse().expect("a number of repetitions");
                for i in 0..count {
                    let mut values = values.to_vec();
                    values.push((name, i.to_string()));
                    expand_lines(body, &values, out);
                }
            }
            _ => panic!("unknown directive: {line}"),
        }
    }
}

/// The lines of a block before its `else` and before its `end`, which are equal if there is no `else`.
fn block(lines: &[&str]) -> (usize, usize) {
    let (mut depth, mut middle) = (0, None);
    for (at, line) in lines.iter().enumerate() {
        match directive(line) {
            Some("end") if depth == 0 => return (middle.unwrap_or(at), at),
            Some("else") if depth == 0 => middle = Some(at),
            Some("end") => depth -= 1,
            Some("else") | None => {}
            Some(_) => depth += 1,
        }
    }
    panic!("a directive without an end: {:?}", lines.first());
}

fn replace_names(line: &str, values: &Values<'_>, out: &mut String) {
    let mut parts = line.split('$');
    out.extend(parts.next());
    for part in parts {
        // The longest name that the text begins with.
        let known = values.iter().map(|(name, _)| *name).filter(|name| part.starts_with(name));
        let name =
            known.max_by_key(|name| name.len()).unwrap_or_else(|| panic!("no value: {line}"));
        out.push_str(value(values, name).unwrap_or_default());
        out.push_str(&part[name.len()..]);
    }
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn names_conditions_and_repetitions_are_replaced() {
        let source = "//# each i 2\n//# if A$i = 4\nfour\n//# end\n//# end\nlet $A = $AB;\n//# if A = 3\nyes\n//# if NO\nno\n//# else\n  other\n//# end\n//# end\n\
                      //# each i A\nx$i$AB\n//# end\nend";
        let values = [
            ("A1", "4".to_owned()),
            ("A", "3".to_owned()),
            ("AB", "7".to_owned()),
            ("NO", "0".to_owned()),
        ];
        let expected = "four\nlet 3 = 7;\nyes\n  other\nx07\nx17\nx27\nend\n";
        assert_eq!(expand(source, &values), expected);
    }

    #[test]
    fn conditions_without_a_value_are_false() {
        assert_eq!(expand("//# if A = x\n1\n//# else\n2\n//# end", &[]), "2\n");
    }

    #[test]
    #[should_panic(expected = "without an end")]
    fn an_open_block_is_rejected() {
        expand("//# if A\n1", &[]);
    }
}
