//! Rewrites the statements that minijinja reads otherwise than Jinja2.
//!
//! - `{% for x in e %}` over none is an error: `e` becomes `(e)|iterated`.
//! - `{% generation %}`, which transformers adds, is a scope of its own: it becomes `{% with %}`.
//!
//! Lines keep their numbers.

use std::ops::Range;

/// The name of the filter that checks what a loop runs over.
pub(super) const ITERATED: &str = "iterated";

/// The template with those statements rewritten.
pub(super) fn rewrite(source: &str) -> String {
    let mut rewritten = String::with_capacity(source.len() + source.len() / 16);
    let mut copied = 0;
    let mut replace = |range: Range<usize>, text: &str| {
        rewritten.push_str(&source[copied..range.start]);
        rewritten.push_str(text);
        copied = range.end;
    };
    let mut at = 0;
    while let Some(opening) = next_opening(source, at) {
        at = match &source[opening..opening + 2] {
            "{#" => after(source, opening + 2, "#}"),
            "{{" => words(source, opening + 2, "}}").1,
            _ => {
                let (words, end) = words(source, opening + 2, "%}");
                let texts: Vec<&str> = words.iter().map(|word| &source[word.range()]).collect();
                match texts.first() {
                    Some(&"raw") => after_endraw(source, end),
                    Some(&"generation") => {
                        replace(words[0].range(), "with");
                        end
                    }
                    Some(&"endgeneration") => {
                        replace(words[0].range(), "endwith");
                        end
                    }
                    Some(&"for") => {
                        if let Some(iterable) = iterable(&words, &texts, source, end) {
                            replace(iterable.start..iterable.start, " (");
                            replace(iterable.end..iterable.end, &format!(")|{ITERATED} "));
                        }
                        end
                    }
                    _ => end,
                }
            }
        };
    }
    rewritten.push_str(&source[copied..]);
    rewritten
}

/// A name outside of strings and brackets.
struct Word {
    start: usize,
    end: usize,
}

impl Word {
    fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// Where the next tag, expression or comment opens.
fn next_opening(source: &str, from: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    (from..bytes.len().saturating_sub(1))
        .find(|&at| bytes[at] == b'{' && matches!(bytes[at + 1], b'{' | b'%' | b'#'))
}

/// Behind the next `text`; the end where it does not come.
fn after(source: &str, from: usize, text: &str) -> usize {
    source[from..].find(text).map_or(source.len(), |at| from + at + text.len())
}

/// Behind the tag that ends a raw section.
fn after_endraw(source: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let opening = after(source, at, "{%");
        if opening == source.len() {
            return opening;
        }
        let tag = source[opening..].trim_start_matches(['-', '+']).trim_start();
        if tag.starts_with("endraw") {
            return after(source, opening, "%}");
        }
        at = opening;
    }
}

/// The words of a tag or an expression outside of brackets, and where it ends, behind `closing`.
fn words(source: &str, from: usize, closing: &str) -> (Vec<Word>, usize) {
    let bytes = source.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    let mut words = Vec::new();
    let mut depth = 0_usize;
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            _ if depth == 0 && source[at..].starts_with(closing) => {
                return (words, at + closing.len());
            }
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            byte if is_word(byte) => {
                let start = at;
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
                if depth == 0 {
                    words.push(Word { start, end: at });
                }
            }
            _ => at += 1,
        }
    }
    (words, source.len())
}

/// What a `for` tag runs over: from behind `in` to `if`, `recursive` or the end.
fn iterable(words: &[Word], texts: &[&str], source: &str, end: usize) -> Option<Range<usize>> {
    let start = texts.iter().position(|&text| text == "in")?;
    let stop = texts[start + 1..].iter().position(|text| matches!(*text, "if" | "recursive"));
    let stop = match stop {
        Some(stop) => words[start + 1 + stop].start,
        None => source[..end].strip_suffix("%}")?.trim_end_matches(['-', '+']).len(),
    };
    Some(words[start].end..stop)
}
