//! Chooses among several objects with the same former name.

use super::candidates::{Candidate, Referrer};
use compact_str::CompactString;

/// Several objects with the same former name and different names now.
#[derive(Debug)]
pub(super) struct Ambiguous(pub Vec<String>);

/// The referenced object: the only one; else the only one with the prefixes and suffixes of the referrer; else any, if
/// `same` says that it does not matter. `None` if no candidate is left.
pub(super) fn choose<'a>(
    mut candidates: Vec<&'a Candidate>,
    referrer: &Referrer<'_>,
    same: impl Fn(&Candidate, &Candidate) -> bool,
) -> Result<Option<&'a Candidate>, Ambiguous> {
    if let [only] = *candidates.as_slice() {
        return Ok(Some(only));
    }
    candidates.retain(|candidate| is_alike(candidate, referrer, true));
    if candidates.len() > 1 {
        candidates.retain(|candidate| is_alike(candidate, referrer, false));
    }
    let Some((first, rest)) = candidates.split_first() else {
        return Ok(None);
    };
    if rest.iter().all(|other| same(first, other)) {
        return Ok(Some(first));
    }
    Err(Ambiguous(
        candidates.iter().map(|candidate| candidate.id.to_string()).collect(),
    ))
}

/// Whether prefixes and suffixes end alike; with `or_empty`, none at all match any.
fn is_alike(candidate: &Candidate, referrer: &Referrer<'_>, or_empty: bool) -> bool {
    let alike = |ours: &[CompactString], theirs: &[CompactString]| {
        (or_empty && (ours.is_empty() || theirs.is_empty())) || end_alike(ours, theirs)
    };
    alike(&candidate.prefixes, referrer.prefixes) && alike(&candidate.suffixes, referrer.suffixes)
}

/// Whether the shorter list is the end of the longer one; an empty one is only that of an empty one.
fn end_alike(a: &[CompactString], b: &[CompactString]) -> bool {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => true,
        (false, false) => a.ends_with(b) || b.ends_with(a),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_alike_if_one_is_the_end_of_the_other() {
        let list = |text: &str| text.split_whitespace().map(CompactString::from).collect::<Vec<_>>();
        for (a, b, wanted) in [
            ("a b c", "b c", true),
            ("c", "a b c", true),
            ("a b", "a b c", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(end_alike(&list(a), &list(b)), wanted, "{a:?} {b:?}");
        }
    }
}
