//! Where the last tokens occurred before.

/// Sets `lengths[distance]` to the number of last tokens that also occur, in the same order, `distance` tokens earlier.
/// `lengths[0]` is not meaningful.
///
/// The Z-algorithm, from the end: each token is compared once with a token that equals it, so the time is linear.
pub(super) fn find_lengths(tokens: &[u32], lengths: &mut Vec<usize>) {
    let from_end = |index: usize| tokens[tokens.len() - 1 - index];
    lengths.clear();
    lengths.resize(tokens.len(), 0);
    // The tokens from `start` to `end`, counted from the end, equal the last `end - start` tokens.
    let (mut start, mut end) = (0, 0);
    for distance in 1..tokens.len() {
        let mut length = match distance < end {
            true => lengths[distance - start].min(end - distance),
            false => 0,
        };
        while distance + length < tokens.len() && from_end(length) == from_end(distance + length) {
            length += 1;
        }
        lengths[distance] = length;
        if distance + length > end {
            (start, end) = (distance, distance + length);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lengths_are_those_of_comparing_all_pairs(tokens in prop::collection::vec(0u32..3, 0..60)) {
            let mut lengths = vec![7];
            find_lengths(&tokens, &mut lengths);
            prop_assert_eq!(lengths.len(), tokens.len());
            for distance in 1..tokens.len() {
                let earlier = tokens[..tokens.len() - distance].iter().rev();
                let equal = earlier.zip(tokens.iter().rev()).take_while(|(a, b)| a == b).count();
                prop_assert_eq!(lengths[distance], equal, "{}", distance);
            }
        }
    }
}
