//! Sorted lists of counts. They grow in small steps, and merge in one pass.

/// Reserves memory for one more item. A large list grows by only a quarter, because there are tens of thousands of
/// these lists.
pub(super) fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len().clamp(4, 32).max(list.len() / 4));
    }
}

/// Merges `other` into `own`. Both must be sorted in ascending order by a unique key. `add` merges two items with the
/// same key.
pub(super) fn add_sorted<T: Copy, K: Ord>(
    own: &mut Vec<T>,
    other: &[T],
    key: impl Fn(&T) -> K,
    mut add: impl FnMut(&mut T, &T),
) {
    let (mut at, mut missing) = (0, 0);
    for item in other {
        let wanted = key(item);
        while own.get(at).is_some_and(|own| key(own) < wanted) {
            at += 1;
        }
        match own.get_mut(at) {
            Some(own) if key(own) == wanted => add(own, item),
            _ => missing += 1,
        }
    }
    // Move items from the end backwards, so that no second list is needed.
    let (mut from, mut to) = (own.len(), own.len() + missing);
    own.reserve_exact(missing);
    own.extend_from_slice(&other[other.len() - missing..]);
    for item in other.iter().rev() {
        if from == to {
            return;
        }
        let wanted = key(item);
        while from > 0 && key(&own[from - 1]) > wanted {
            (from, to) = (from - 1, to - 1);
            own[to] = own[from];
        }
        if from == 0 || key(&own[from - 1]) < wanted {
            to -= 1;
            own[to] = *item;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn add_sorted_matches_a_map(
            own in prop::collection::btree_map(0_u8..40, 1_u64..9, 0..20),
            other in prop::collection::btree_map(0_u8..40, 1_u64..9, 0..20),
        ) {
            let mut naive: BTreeMap<u8, u64> = own.clone();
            for (key, count) in &other {
                *naive.entry(*key).or_default() += count;
            }
            let mut own: Vec<(u8, u64)> = own.into_iter().collect();
            let other: Vec<(u8, u64)> = other.into_iter().collect();
            add_sorted(&mut own, &other, |item| item.0, |own, item| own.1 += item.1);
            prop_assert_eq!(own, naive.into_iter().collect::<Vec<_>>());
        }
    }
}
