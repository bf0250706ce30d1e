//! Numbers as a line of block characters. The crates for it are of 2015 and 2019, and this is all that there is to it.

/// The least stands for none at all, so that a little can be told from nothing.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A character for each number: the greatest is as high as can be, what is zero as low.
pub(super) fn sparkline(numbers: &[u64]) -> String {
    let most = numbers.iter().copied().max().unwrap_or(0);
    let steps = LEVELS.len() as u128 - 1;
    let level = |number: u64| match most {
        0 => 0,
        _ => usize::try_from((u128::from(number) * steps).div_ceil(u128::from(most))).unwrap_or(0),
    };
    numbers.iter().map(|number| LEVELS[level(*number)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_none_and_the_highest_is_the_most() {
        assert_eq!(sparkline(&[0, 1, 2, 3, 4, 5, 6, 7]), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[0, 1, 500, 1_000]), "▁▂▅█");
        assert_eq!(sparkline(&[5, 5]), "██");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
        assert_eq!(sparkline(&[u64::MAX, 1, 0]), "█▂▁");
        assert_eq!(sparkline(&[]), "");
    }
}
