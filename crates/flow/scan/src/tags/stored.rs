//! A scan as it is stored.

/// A scan as it is stored: the canonical image name, then the tags, one per line.
pub(super) struct Stored<'s> {
    pub(super) canonical: &'s str,
    pub(super) tags: &'s [String],
}

impl Stored<'_> {
    pub(super) fn len(&self) -> usize {
        let tags = self.tags.iter().map(String::len).fold(0, usize::saturating_add);
        // Also without tags there is a line break.
        self.canonical.len() + tags + self.tags.len().max(1)
    }

    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let tags = self.tags.iter().enumerate();
        let tags = tags.flat_map(|(number, tag)| [if number > 0 { &b"\n"[..] } else { b"" }, tag.as_bytes()]);
        [self.canonical.as_bytes(), b"\n"].into_iter().chain(tags)
    }

    pub(super) fn is(&self, other: &[u8]) -> bool {
        let mut rest = other;
        other.len() == self.len()
            && self.parts().all(|part| match rest.strip_prefix(part) {
                Some(after) => {
                    rest = after;
                    true
                }
                None => false,
            })
    }

    pub(super) fn copy_to(&self, mut out: &mut [u8]) {
        for part in self.parts() {
            let Some((to, rest)) = out.split_at_mut_checked(part.len()) else {
                return;
            };
            to.copy_from_slice(part);
            out = rest;
        }
    }
}

/// The tags of a scan of this image; none for another one.
pub(super) fn of_image<'a>(bytes: &'a [u8], canonical: &str) -> Option<&'a [u8]> {
    bytes.strip_prefix(canonical.as_bytes())?.strip_prefix(b"\n")
}

/// The tags of a stored list.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').filter(|tag| !tag.is_empty())
}

/// A list of about so many bytes, with other tags for each number.
#[cfg(test)]
pub(super) fn of_size(bytes: usize, number: usize) -> Vec<String> {
    (0..bytes / 20).map(|n| format!("{number:09}-{n:09}")).collect()
}
