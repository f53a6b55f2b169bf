//! Changes as rows: fields with the same policy and the same old and new value are one row.

use bumpwright_edit::Change;

/// Some fields that changed in the same way.
#[derive(Debug)]
pub(super) struct Row<'r> {
    /// `namespace/policy`
    pub policy: String,
    /// What both values begin with: the name of an image; empty where they have nothing in common.
    pub name: &'r str,
    /// The old value without it.
    pub old: &'r str,
    /// The new value without it.
    pub new: &'r str,
    /// The fields, in their order.
    pub fields: Vec<&'r Change>,
}

/// The rows of these changes, in the order of their first fields.
pub(super) fn rows(changes: &[Change]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for change in changes {
        let policy = change.policy.to_string();
        let (name, old, new) = parts(&change.old, &change.new);
        let same = |row: &&mut Row<'_>| row.policy == policy && (row.name, row.old, row.new) == (name, old, new);
        match rows.iter_mut().find(same) {
            Some(row) => row.fields.push(change),
            None => rows.push(Row {
                policy,
                name,
                old,
                new,
                fields: vec![change],
            }),
        }
    }
    rows
}

/// The name that two images share, and the rest of each, which is a tag or a digest.
fn parts<'r>(old: &'r str, new: &'r str) -> (&'r str, &'r str, &'r str) {
    let name = |image: &'r str| {
        let end = image.rfind('/').map_or(0, |at| at + 1);
        let tail = image.get(end..)?;
        let at = end + tail.find([':', '@'])?;
        Some((image.get(..at)?, image.get(at + 1..)?))
    };
    match (name(old), name(new)) {
        (Some((one, old)), Some((other, new))) if one == other => (one, old, new),
        _ => ("", old, new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_cut_at_their_name() {
        for (old, new, expected) in [
            ("r:5000/a/b:1", "r:5000/a/b:2", ("r:5000/a/b", "1", "2")),
            ("b:1", "b:2@sha256:0", ("b", "1", "2@sha256:0")),
            ("b@sha256:0", "b@sha256:1", ("b", "sha256:0", "sha256:1")),
            ("a:1", "b:1", ("", "a:1", "b:1")),
            ("1.0", "1.1", ("", "1.0", "1.1")),
            ("r:5000/a", "r:5000/a:2", ("", "r:5000/a", "r:5000/a:2")),
        ] {
            assert_eq!(parts(old, new), expected, "{old}");
        }
    }
}
