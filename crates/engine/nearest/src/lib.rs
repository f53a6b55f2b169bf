//! Spelling suggestions: the known name that is nearest to an unknown one.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

/// Longer names, in bytes, are not compared: the time is the product of the lengths.
const LONGEST: usize = 200;

/// The known name that differs least from `name`, ignoring case: by one letter in a short name, by a third in a long
/// one, since `tag` is not `map`. Swapped letters count as one (optimal string alignment). Of equally near ones the
/// first in the alphabet.
#[must_use]
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let lower = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    let length = lower.chars().count();
    let near = |known: &'k str| {
        let comparable = name.len().max(known.len()) <= LONGEST;
        let other = comparable.then(|| known.to_lowercase())?;
        // Each letter that one has more is a difference.
        let may_be_near = length.abs_diff(other.chars().count()) <= allowed;
        let distance = may_be_near.then(|| strsim::osa_distance(&lower, &other))?;
        (distance <= allowed).then_some((distance, known))
    };
    known.into_iter().filter_map(near).min().map(|(_, known)| known)
}

/// The end of an error about an unknown name, `; did you mean tags?`; nothing if no known one is near.
#[must_use]
pub fn meant<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

/// The name of a file that may be meant: the only one that begins so, else the nearest, as by [`nearest`].
#[must_use]
pub fn nearest_name<'n>(name: &str, names: &'n [String]) -> Option<&'n str> {
    let mut longer = names.iter().filter(|one| one.starts_with(name));
    match (longer.next(), longer.next()) {
        (Some(only), None) => Some(only),
        _ => nearest(name, names.iter().map(String::as_str)),
    }
}

/// The path that is nearest to one that does not exist: each name that its folder does not have becomes the nearest
/// there, as by [`nearest_name`]. `list` has the names in a folder by its path, which is empty for the root; none for
/// what is not a folder.
#[must_use]
pub fn nearest_path(path: &str, mut list: impl FnMut(&str) -> Option<Vec<String>>) -> Option<String> {
    let mut found = String::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        let names = list(&found)?;
        let same = names.iter().find(|known| *known == name).map(String::as_str);
        let known = same.or_else(|| nearest_name(name, &names))?;
        if !found.is_empty() {
            found.push('/');
        }
        found.push_str(known);
    }
    Some(found)
}

/// The edit distance between two names, in characters: those that are missing, added or others (Levenshtein).
#[must_use]
pub fn distance(one: &str, other: &str) -> usize {
    strsim::levenshtein(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let known = ["resources", "commonLabels", "labels", "images", "minimum-age", "push"];
        for (name, wanted) in [
            ("comonLabels", Some("commonLabels")),
            ("resource", Some("resources")),
            ("lables", Some("labels")),
            ("Image", Some("images")),
            ("minimumAge", Some("minimum-age")),
            ("psuh", Some("push")),
            ("helm", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), wanted, "{name:?}");
        }
        assert_eq!(nearest(&"resources".repeat(1000), known), None);
        assert_eq!(meant("psuh", known), "; did you mean push?");
        assert_eq!(meant("helm", known), "");
    }

    #[test]
    fn each_name_of_a_path_is_looked_for_in_its_folder() {
        let list = |folder: &str| {
            let names: &[&str] = match folder {
                "" => &["apps", "clusters"],
                "apps" => &["web", "worker"],
                "clusters" => &["production"],
                _ => return None,
            };
            Some(names.iter().map(|name| (*name).to_owned()).collect())
        };
        for (path, wanted) in [
            ("app", Some("apps")),
            ("cl/prod", Some("clusters/production")),
            ("apps/w", None),
            ("./apps/wed", Some("apps/web")),
            ("cluster/prodution/", Some("clusters/production")),
            ("apps/web/base", None),
            ("infrastructure", None),
            ("app/none", None),
        ] {
            assert_eq!(nearest_path(path, list).as_deref(), wanted, "{path}");
        }
    }

    #[test]
    fn a_distance_counts_characters() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "äbc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
