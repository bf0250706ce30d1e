//! Parses numbers in flags.

use std::ops::RangeInclusive;

/// Parses a number in a range. `meaning` says what to write, with an example.
pub(super) fn number<N: TryFrom<i64>>(
    range: RangeInclusive<i64>,
    meaning: &'static str,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| {
            let (first, last) = (range.start(), range.end());
            let to = if *last == i64::MAX { String::new() } else { format!(" to {last}") };
            format!("not a whole number from {first}{to}; write {meaning}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_outside_its_range_is_an_error_with_an_example() {
        let read = number::<u16>(1..=512, "the number of workers, such as 4");
        assert_eq!(read("512"), Ok(512));
        for bad in ["0", "513", "abc", "", "1.5", "-1", "99999999999999999999"] {
            let error = read(bad).expect_err(bad);
            assert_eq!(error, "not a whole number from 1 to 512; write the number of workers, such as 4");
        }
        let open = number::<u32>(1..=i64::MAX, "a case, such as 1");
        assert_eq!(open("x").expect_err("no number"), "not a whole number from 1; write a case, such as 1");
        assert!(open("4294967296").is_err(), "too large for its type");
    }
}
