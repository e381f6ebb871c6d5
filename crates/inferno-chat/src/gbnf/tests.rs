use super::*;
use crate::matching::matches;

/// Checks which texts match a grammar.
fn check(grammar: &str, fitting: &[&str], others: &[&str]) {
    let lark = to_lark(grammar).unwrap_or_else(|error| panic!("{grammar}\n{error}"));
    for (texts, expected) in [(fitting, true), (others, false)] {
        for text in texts {
            let found = matches(&lark, text).unwrap_or_else(|error| panic!("{lark}\n{error}"));
            assert_eq!(found, expected, "{text:?}\n{grammar}\n{lark}");
        }
    }
}

#[test]
fn literals_and_their_escapes_match_themselves() {
    check(r#"root ::= "a\"\\\n\t\r" "é/""#, &["a\"\\\n\t\ré/"], &["a", "a\\\"", ""]);
    check(r#"root ::= "\x41\u00e9\U0001F600""#, &["Aé😀"], &["A"]);
    check(r#"root ::= "" "a" """#, &["a"], &["", "aa"]);
}

#[test]
fn character_classes_match_one_character() {
    check("root ::= [a-cx]", &["a", "c", "x"], &["d", "-", "ab", ""]);
    check("root ::= [^a-c]", &["d", "\n", "é", "😀"], &["a", "dd"]);
    check(r"root ::= [\]\[\\^/-]", &["]", "[", "\\", "^", "/", "-"], &["a"]);
    check(r"root ::= [\x30-\x39\u0391-\u03A9]", &["0", "9", "Ω"], &["a", "ω"]);
    check("root ::= . . [^]", &["a\né", "\u{1F600}bc"], &["a", "abcd"]);
}

#[test]
fn repetitions_have_their_bounds() {
    check("root ::= \"a\"*", &["", "a", "aaaa"], &["b"]);
    check("root ::= \"a\"+ [b]?", &["a", "aab"], &["", "b", "abb"]);
    check("root ::= \"ab\"{2}", &["abab"], &["ab", "ababab", "abb"]);
    check("root ::= [a-z]{2,}", &["ab", "abcd"], &["a"]);
    check("root ::= [a-z]{0,2} \"!\"", &["!", "a!", "ab!"], &["abc!"]);
    check("root ::= (\"a\" | \"bc\"){ 1 , 2 }", &["a", "bc", "abc", "bca"], &["", "aaa"]);
    check("root ::= (\"a\"+){2}", &["aa", "aaaa"], &["a"]);
}

#[test]
fn alternatives_groups_and_comments_may_extend_over_lines() {
    let grammar = "# a greeting\r\nroot ::= # here\n  (\"hello\" | \"hi\" # or\n  ) \" \" name end?\nname ::= \"Bob\"\n  | \"Eve\"\nend ::= [.!]\n# done";
    check(grammar, &["hello Bob", "hi Eve!", "hi Bob."], &["hello", "hi Bob!!", "# a"]);
    check("root ::= \"a\" | \"b\" |", &["a", "b", ""], &["ab"]);
    check("root::=(((\"a\"|(\"b\" \"c\"))))", &["a", "bc"], &["b", "ac"]);
}

#[test]
fn recursive_rules_match() {
    let expression = r#"
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
"#;
    check(
        expression,
        &["a=1\n", "(a +b2)*(3) = x_1\n", "1+2=3\n4=5\n"],
        &["a=\n", "(a=1\n", "=1\n"],
    );
    check("root ::= \"(\" root? \")\"", &["()", "((()))"], &["(", "())", ""]);
    check("root ::= root \"a\" | \"a\"", &["a", "aaa"], &["", "b"]);
}

#[test]
fn what_follows_a_part_is_not_taken_for_more_of_it() {
    let nested = "root ::= \"<\" [a-z ]* (root | \"b\") \">\"";
    check(nested, &["<b>", "<abb>", "<a <bb>>"], &["<a>", "<>"]);
    let spaces = "root ::= ws \"(\" ws root? ws \")\" ws\nws ::= ([ \\n] ws)?";
    check(spaces, &["()", " ( ( )\n) "], &["(", "( x )"]);
}

#[test]
fn an_alternative_may_begin_with_another() {
    let grammar = "root ::= x \"b\" root | \".\"\nx ::= \"a\" | \"ab\"";
    check(grammar, &["ab.", "abb.", "ababb.", "."], &["a.", "abbb.", "ab"]);
    check("root ::= \"a\" \"bc\" root | \"abcd\" | \"!\"", &["abc!", "abcabcd"], &["abcd!"]);
}

#[test]
fn json_as_in_llama_cpp_matches() {
    let json = r#"
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

ws ::= | " " | "\n" [ \t]{0,20}
"#;
    let fitting = [
        r#"{}"#,
        r#"{"a": [1, -2.5e3, {"b\n": "\u00e9"}], "c": null}"#,
        "{\"a\":\n\t[true , false]} ",
    ];
    let others = [r#"{"a"}"#, r#"{"a": 01}"#, r#"[1]"#, "{\"a\": \"\n\"}", r#"{"a": tru}"#];
    check(json, &fitting, &others);
}

#[test]
fn large_repetitions_of_large_classes_take_little_memory() {
    // Every other character, so that no two ranges can be merged.
    let class: String = (0..250).map(|index| char::from_u32(0x4e00 + 2 * index).unwrap()).collect();
    let grammar = format!("root ::= [{class}]{{10000}}{{190}}");
    let lark = to_lark(&grammar).unwrap();
    assert!(lark.len() < 100_000, "{}", lark.len());
    check("root ::= ([a-c]{2}){2000}", &[&"ab".repeat(2000)], &[&"ab".repeat(1999)]);
}

#[test]
fn tokens_are_referred_to_by_their_ids() {
    let lark = to_lark("root ::= <[65]> [a-z]+").unwrap();
    assert_eq!(lark, "start: r0\nPART0: (/[\\u{61}-\\u{7A}]/)+\nr0: <[65]> PART0 // root\n");
    assert!(matches(&lark, "Abc").unwrap());
}

#[test]
fn errors_name_the_line_and_the_cause() {
    let cases = [
        ("root ::= \"a", "line 1: a string is not closed"),
        ("root ::= a\nb ::= \"c\"", "the rule \"a\" is not defined"),
        ("a ::= \"b\"", "the rule \"root\" is not defined"),
        ("root ::= \"a\"\nroot ::= \"b\"", "line 2: the rule \"root\" is defined twice"),
        ("root ::= (\"a\"", "line 1: expected \")\", but found the end"),
        ("root ::= \"a\")", "line 1: expected a rule, but found ')'"),
        ("root ::= [z-a]", "line 1: the range 'z'-'a' is empty"),
        ("root ::= []", "line 1: a character class is empty"),
        ("root ::= \"\\q\"", "line 1: unknown escape \\q"),
        ("root ::= \"\\uD800\"", "line 1: invalid escape: expected 4 hexadecimal digits"),
        ("root ::= \"a\"{3,2}", "line 1: invalid repetition {3,2}"),
        ("root ::= \"a\"{99999}", "line 1: invalid repetition {99999,99999}"),
        ("root ::= <think>", "line 1: tokens can only be referred to by their ids"),
        ("root ::= \"a\" ; \"b\"", "line 1: unexpected ';'"),
    ];
    for (grammar, expected) in cases {
        let message = to_lark(grammar).unwrap_err().to_string();
        assert!(message.starts_with(&format!("GBNF: {expected}")), "{grammar:?}: {message}");
    }
    let deep = format!("root ::= {}", "(".repeat(101));
    assert!(to_lark(&deep).unwrap_err().0.contains("nested more than 100"));
}

#[test]
fn gbnf_is_recognized_by_its_definitions() {
    assert!(is_gbnf("root ::= \"a\""));
    assert!(is_gbnf("# comment\nws-1 ::= [ ]*\nroot ::= ws-1"));
    assert!(!is_gbnf("start: \"a ::= b\" /::=/"));
    assert!(!is_gbnf("start: a\na: \"::=\""));
}
