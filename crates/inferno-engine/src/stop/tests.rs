//! Stop strings against a search of the whole text, in any split.

use proptest::prelude::*;

use super::*;

fn checker(params: StopParams) -> StopChecker {
    StopChecker::new(params, 100, &[2], &[8]).expect("valid parameters")
}

/// Takes a token and the text that it adds; a token that ends by itself has no more to say.
fn push(checker: &mut StopChecker, token: u32, text: &str) -> Released {
    match checker.push_token(token) {
        Some(reason) => checker.finish(reason),
        None => checker.push_text(text),
    }
}

fn stop_at(strings: &[&str]) -> StopParams {
    StopParams {
        stop: strings.iter().map(|&string| string.to_owned()).collect(),
        ..StopParams::default()
    }
}

/// Everything that is shown of `pieces`, and how they end.
fn run(params: &StopParams, pieces: &[&str]) -> (String, Option<FinishReason>) {
    let mut checker = checker(params.clone());
    let mut shown = String::new();
    for piece in pieces {
        let released = push(&mut checker, 50, piece);
        shown.push_str(&released.text);
        if released.finish_reason.is_some() {
            return (shown, released.finish_reason);
        }
    }
    shown.push_str(&checker.finish(FinishReason::Cancelled).text);
    (shown, None)
}

/// The same by searching the whole text: the match that ends first, the longest of those.
fn search(params: &StopParams, text: &str) -> (String, Option<FinishReason>) {
    let matches = params.stop.iter().enumerate().filter_map(|(index, string)| {
        text.find(string.as_str()).map(|start| (start + string.len(), start, index))
    });
    match matches.min() {
        Some((end, start, index)) => {
            let end = if params.include_stop_str_in_output { end } else { start };
            (text[..end].to_owned(), Some(FinishReason::StopString(index)))
        }
        None => (text.to_owned(), None),
    }
}

#[test]
fn text_that_may_become_a_stop_string_is_held_back_until_it_cannot() {
    let mut checker = checker(stop_at(&["</end>"]));
    let mut push = |text| push(&mut checker, 50, text).text;
    assert_eq!(push("a <"), "a ");
    assert_eq!(push("/e"), "");
    assert_eq!(push("xit"), "</exit");
    assert_eq!(push("<<"), "<");
    assert_eq!(push("/en"), "");
    assert_eq!(push("d"), "");
}

#[test]
fn without_stop_strings_nothing_is_held_back() {
    let mut checker = checker(StopParams::default());
    assert_eq!(push(&mut checker, 50, "héllo").text, "héllo");
}

#[test]
fn the_string_that_is_complete_first_wins_and_then_the_longest() {
    let both = stop_at(&["abcd", "bc"]);
    assert_eq!(run(&both, &["xabcd"]), ("xa".to_owned(), Some(FinishReason::StopString(1))));
    let same_end = stop_at(&["END", "THE END"]);
    assert_eq!(run(&same_end, &["THE END"]), (String::new(), Some(FinishReason::StopString(1))));
}

#[test]
fn the_stop_string_is_kept_if_asked_for_but_nothing_after_it() {
    let params = StopParams { include_stop_str_in_output: true, ..stop_at(&["é!"]) };
    assert_eq!(run(&params, &["oé", "! more"]).0, "oé!");
}

#[test]
fn end_of_generation_and_stop_tokens_end_without_their_text() {
    let mut end = checker(stop_at(&["xyz"]));
    assert_eq!(push(&mut end, 50, "ax").text, "a");
    let last = push(&mut end, 2, "");
    assert_eq!(last.text, "x", "what was held back is released");
    assert_eq!(last.finish_reason, Some(FinishReason::EndOfGeneration));

    let params = StopParams { stop_token_ids: vec![7], ..stop_at(&["xyz"]) };
    let mut by_token = checker(params.clone());
    assert_eq!(push(&mut by_token, 50, "ax").text, "a");
    let reason = FinishReason::StopToken(7);
    assert_eq!(by_token.push_token(7), Some(reason));
    assert!(!by_token.shows_last_token(reason));
    let last = by_token.finish(reason);
    assert_eq!((last.text.as_str(), last.finish_reason), ("x", Some(reason)));

    let params = StopParams { include_stop_str_in_output: true, ..params };
    assert!(checker(params).shows_last_token(reason));
}

#[test]
fn end_of_generation_can_be_ignored() {
    let params = StopParams { ignore_eos: true, min_tokens: 1, ..StopParams::default() };
    let mut checker = checker(params);
    assert_eq!(checker.banned(), [8]);
    assert_eq!(push(&mut checker, 2, "").finish_reason, None);
    assert_eq!(push(&mut checker, 2, "").finish_reason, None);
}

#[test]
fn the_first_min_tokens_end_nothing() {
    let params = StopParams { min_tokens: 2, stop_token_ids: vec![7], ..stop_at(&["aba"]) };
    let mut checker = checker(params);
    assert_eq!(checker.banned(), [8, 2, 7]);
    assert_eq!(push(&mut checker, 50, "aba").finish_reason, None);
    assert_eq!(checker.banned(), [8, 2, 7]);
    assert_eq!(push(&mut checker, 7, "").finish_reason, None);
    assert_eq!(checker.banned(), [8]);
    // The end of the string that was passed over begins the one that counts.
    let last = push(&mut checker, 51, "ba");
    assert_eq!(last.text, "");
    assert_eq!(last.finish_reason, Some(FinishReason::StopString(0)));
}

#[test]
fn what_was_held_back_is_released_when_max_tokens_are_reached() {
    let params = StopParams { max_tokens: Some(2), ..stop_at(&["bcd"]) };
    let mut checker = checker(params);
    assert_eq!(push(&mut checker, 50, "ab").text, "a");
    assert!(!checker.is_at_max_tokens());
    assert_eq!(push(&mut checker, 51, "c").text, "");
    assert!(checker.is_at_max_tokens());
    assert_eq!(checker.finish(FinishReason::Length).text, "bc");
}

#[test]
fn requests_that_contradict_themselves_are_refused() {
    let refused = |params: StopParams| {
        StopChecker::new(params, 10, &[], &[]).expect_err("it contradicts itself").to_string()
    };
    let params = StopParams { max_tokens: Some(2), min_tokens: 3, ..StopParams::default() };
    assert_eq!(refused(params), "min_tokens is 3, which is more than max_tokens, 2");
    assert_eq!(refused(stop_at(&["a", ""])), "stop string 1 is empty; leave it out");
    assert_eq!(refused(stop_at(&["a"; 257])), "stop has 257 strings, but 256 is the most");
    let long = "a".repeat(20_000);
    assert_eq!(refused(stop_at(&[&long])), "stop has 20000 bytes, but 16384 is the most");
    let params = StopParams { stop_token_ids: vec![1; 1025], ..StopParams::default() };
    assert_eq!(refused(params), "stop_token_ids has 1025 tokens, but 1024 is the most");
    let params = StopParams { stop_token_ids: vec![10], ..StopParams::default() };
    assert!(refused(params).starts_with("stop_token_ids names token 10"));
    let params = StopParams { max_tokens: Some(0), ..StopParams::default() };
    assert!(refused(params).starts_with("max_tokens must be 1 or more"));
}

proptest! {
    #[test]
    fn any_split_of_a_text_stops_where_a_search_of_the_whole_text_stops(
        stop in prop::collection::vec("[abé]{1,5}", 0..4),
        pieces in prop::collection::vec("[abé€]{0,4}", 0..30),
        include_stop_str_in_output: bool,
    ) {
        let params = StopParams { stop, include_stop_str_in_output, ..StopParams::default() };
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let text = pieces.concat();
        let expected = search(&params, &text);
        prop_assert_eq!(&run(&params, &pieces), &expected);
        prop_assert_eq!(&run(&params, &[&text]), &expected);

        let by_character: Vec<String> = text.chars().map(String::from).collect();
        let by_character: Vec<&str> = by_character.iter().map(String::as_str).collect();
        prop_assert_eq!(&run(&params, &by_character), &expected);
    }

    #[test]
    fn as_much_is_held_back_as_could_become_a_stop_string_and_no_more(
        stop in prop::collection::vec("[ab]{1,6}", 1..3),
        pieces in prop::collection::vec("[abc]{0,3}", 0..20),
    ) {
        let mut checker = checker(StopParams { stop: stop.clone(), ..StopParams::default() });
        let (mut text, mut shown) = (String::new(), String::new());
        for piece in &pieces {
            let released = push(&mut checker, 50, piece);
            if released.finish_reason.is_some() {
                break;
            }
            text.push_str(piece);
            shown.push_str(&released.text);
            prop_assert!(text.starts_with(&shown));
            let may_become = |start: usize| stop.iter().any(|stop| stop.starts_with(&text[start..]));
            let expected = (0..text.len()).find(|&start| may_become(start)).unwrap_or(text.len());
            prop_assert_eq!(shown.len(), expected);
        }
    }
}
