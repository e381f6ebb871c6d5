//! Random grammars match the same texts after translation as by the definition of GBNF.

use super::to_lark;
use crate::matching::matching;

/// An expression, written and matched independently of the translation.
enum Random {
    Text(String),
    Class(&'static str),
    Rule(usize),
    Sequence(Vec<Random>),
    Choice(Vec<Random>),
    Repeat(Box<Random>, &'static str, usize, usize),
}

const NUM_RULES: usize = 3;
/// Repetitions of texts of [`MAX_LEN`] letters that make a difference.
const MANY: usize = 8;
const MAX_LEN: usize = 6;

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn expression(&mut self, depth: usize) -> Random {
        match self.below(if depth == 0 { 3 } else { 7 }) {
            0 => Random::Text(["a", "b", "ab", "ba", "aab", "abb"][self.below(6)].to_owned()),
            1 => Random::Class(["[ab]", "[^b]"][self.below(2)]),
            2 => Random::Rule(self.below(NUM_RULES)),
            3 | 4 => {
                let len = 2 + self.below(2);
                Random::Sequence((0..len).map(|_| self.expression(depth - 1)).collect())
            }
            5 => {
                let len = 2 + self.below(2);
                Random::Choice((0..len).map(|_| self.expression(depth - 1)).collect())
            }
            _ => {
                let (operator, min, max) =
                    [("*", 0, MANY), ("+", 1, MANY), ("?", 0, 1), ("{1,2}", 1, 2)][self.below(4)];
                Random::Repeat(Box::new(self.expression(depth - 1)), operator, min, max)
            }
        }
    }

    /// Rules with an alternative that is not recursive, so that each matches some text.
    fn rules(&mut self) -> Vec<Random> {
        let base =
            |numbers: &mut Self| Random::Text(["a", "b", "ab", ""][numbers.below(4)].to_owned());
        (0..NUM_RULES).map(|_| Random::Choice(vec![self.expression(3), base(self)])).collect()
    }
}

impl Random {
    fn write(&self) -> String {
        let all = |items: &[Self], separator: &str| {
            let items: Vec<_> = items.iter().map(Self::write).collect();
            format!("({})", items.join(separator))
        };
        match self {
            Self::Text(text) => format!("\"{text}\""),
            Self::Class(class) => (*class).to_owned(),
            Self::Rule(0) => "root".to_owned(),
            Self::Rule(index) => format!("r{index}"),
            Self::Sequence(items) => all(items, " "),
            Self::Choice(choices) => all(choices, " | "),
            Self::Repeat(inner, operator, ..) => format!("({}){operator}", inner.write()),
        }
    }

    /// Where matches that begin at `start` end, one bit for each end, given those of the rules.
    fn ends(&self, text: &str, start: usize, rules: &[[u32; MAX_LEN + 1]; NUM_RULES]) -> u32 {
        let after = |item: &Self, ends: u32| {
            let starts = (0..=text.len()).filter(|start| ends & (1 << start) != 0);
            starts.fold(0, |found, start| found | item.ends(text, start, rules))
        };
        match self {
            Self::Text(part) => {
                u32::from(text[start..].starts_with(part.as_str())) << (start + part.len())
            }
            Self::Class(class) => {
                let is_in = |letter: char| *class == "[ab]" || letter == 'a';
                u32::from(text[start..].chars().next().is_some_and(is_in)) << (start + 1)
            }
            Self::Rule(index) => rules[*index][start],
            Self::Sequence(items) => items.iter().fold(1 << start, |ends, item| after(item, ends)),
            Self::Choice(choices) => {
                choices.iter().fold(0, |ends, item| ends | item.ends(text, start, rules))
            }
            Self::Repeat(inner, _, min, max) => {
                let (mut ends, mut found) = (1 << start, 0);
                for count in 0..=*max {
                    found |= if count >= *min { ends } else { 0 };
                    ends = after(inner, ends);
                }
                found
            }
        }
    }
}

/// Whether the first rule matches a text: the matches of all rules grow until none is new.
fn is_match(rules: &[Random], text: &str) -> bool {
    let mut known = [[0; MAX_LEN + 1]; NUM_RULES];
    loop {
        let before = known;
        for (index, rule) in rules.iter().enumerate() {
            for start in 0..=text.len() {
                known[index][start] |= rule.ends(text, start, &known);
            }
        }
        if known == before {
            return known[0][0] & (1 << text.len()) != 0;
        }
    }
}

#[test]
fn random_grammars_match_the_same_texts_after_translation() {
    let mut texts = vec![String::new()];
    for len in 0..MAX_LEN {
        let longer: Vec<_> = texts.iter().filter(|text| text.len() == len).cloned().collect();
        texts.extend(longer.iter().flat_map(|text| [format!("{text}a"), format!("{text}b")]));
    }
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for _ in 0..150 {
        let rules = numbers.rules();
        let names = ["root", "r1", "r2"];
        let lines =
            names.iter().zip(&rules).map(|(name, rule)| format!("{name} ::= {}", rule.write()));
        let grammar = lines.collect::<Vec<_>>().join("\n");
        let lark = to_lark(&grammar).unwrap_or_else(|error| panic!("{grammar}\n{error}"));
        let found = matching(&lark, texts.iter().map(String::as_str));
        let found = found.unwrap_or_else(|error| panic!("{grammar}\n{lark}\n{error}"));
        let expected: Vec<_> = texts.iter().filter(|text| is_match(&rules, text)).collect();
        assert_eq!(found, expected, "{grammar}\n{lark}");
    }
}
