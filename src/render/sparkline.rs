//! Draws numbers as a line of block characters. kubetoll has its own code for this, because the crates for it are
//! from 2015 and 2019.

/// The lowest block is for zero only, so that zero and small numbers look different.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws a character for each number. The largest number gets the highest block, zero the lowest.
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
    fn zero_is_lowest_and_the_largest_number_highest() {
        assert_eq!(sparkline(&[0, 1, 2, 3, 4, 5, 6, 7]), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&[0, 1, 500, 1_000]), "▁▂▅█");
        assert_eq!(sparkline(&[5, 5]), "██");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
        assert_eq!(sparkline(&[u64::MAX, 1, 0]), "█▂▁");
        assert_eq!(sparkline(&[]), "");
    }
}
