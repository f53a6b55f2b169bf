//! Which known name somebody meant.

/// Longer names are not compared: no field has such a one.
const LONGEST: usize = 64;

/// The known name that differs least from `name`: in at most a third of its letters, case apart.
pub(super) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.len() > LONGEST {
        return None;
    }
    let allowed = (name.len() / 3).max(1);
    let distances = known.iter().map(|known| (distance(name, known), *known));
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed).then_some(nearest)
}

/// How many letters must be put in, taken out or exchanged (Levenshtein), case apart.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().map(|letter| letter.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let letter = letter.to_ascii_lowercase();
        let mut next = vec![at + 1];
        for ((known, pair), left) in other.iter().zip(row.windows(2)).zip(0..) {
            let [diagonal, above] = *pair else { continue };
            let before = next.get(left).copied().unwrap_or(usize::MAX - 1);
            let exchanged = diagonal + usize::from(*known != letter);
            next.push(exchanged.min(above + 1).min(before + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let known = ["resources", "commonLabels", "labels", "images"];
        for (name, wanted) in [
            ("comonLabels", Some("commonLabels")),
            ("resource", Some("resources")),
            ("lables", Some("labels")),
            ("Image", Some("images")),
            ("helm", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, &known), wanted, "{name:?}");
        }
        assert_eq!(nearest(&"resources".repeat(1000), &known), None);
    }
}
