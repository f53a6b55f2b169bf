//! Go's `string`.

use bumpwright_gostd::lossy;
use bumpwright_text::Parts;
use std::{
    borrow::Cow,
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    ops::{Deref, Range},
    rc::Rc,
};

/// A Go string: any bytes. Clones and substrings share them.
#[derive(Clone)]
pub struct Text {
    whole: Rc<[u8]>,
    /// Bytes of `whole` before the text.
    before: u32,
    /// Bytes of `whole` after the text.
    after: u32,
}

impl Text {
    /// The text with U+FFFD in the place of each byte that is not UTF-8.
    pub fn lossy(&self) -> Cow<'_, str> {
        lossy(self)
    }

    /// A substring, which keeps the whole text in memory; `None` when the range is out of bounds.
    pub fn shared_part(&self, range: Range<usize>) -> Self {
        let Some(bytes) = self.get(range.clone()) else {
            return Self::from("");
        };
        let before = (self.before as usize).saturating_add(range.start);
        let after = self.whole.len() - before - bytes.len();
        match (u32::try_from(before), u32::try_from(after)) {
            (Ok(before), Ok(after)) => Self {
                whole: Rc::clone(&self.whole),
                before,
                after,
            },
            _ => Self::from(bytes),
        }
    }

    /// Whether both share their bytes. Equal texts need not share them.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.whole, &other.whole) && self.before == other.before && self.after == other.after
    }

    fn whole(bytes: Rc<[u8]>) -> Self {
        Self {
            whole: bytes,
            before: 0,
            after: 0,
        }
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let end = self.whole.len().saturating_sub(self.after as usize);
        self.whole.part(self.before as usize..end)
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.lossy(), f)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::whole(text.as_bytes().into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::whole(text.into_bytes().into())
    }
}

impl From<&[u8]> for Text {
    fn from(text: &[u8]) -> Self {
        Self::whole(text.into())
    }
}

impl From<Vec<u8>> for Text {
    fn from(text: Vec<u8>) -> Self {
        Self::whole(text.into())
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Self {
        text.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn parts_are_like_texts_of_their_own() {
        let whole = Text::from("abcdef");
        let part = whole.shared_part(1..5);
        for (ours, expected) in [
            (part.clone(), "bcde"),
            (part.shared_part(1..3), "cd"),
            (part.shared_part(4..4), ""),
            (part.shared_part(2..5), ""),
            (whole.shared_part(0..6), "abcdef"),
        ] {
            assert_eq!(ours, Text::from(expected));
            assert_eq!(&*ours, expected.as_bytes());
        }
        assert!(part.shared_part(1..3).is_same(&whole.shared_part(2..4)));
        assert!(part < whole.shared_part(2..6) && part > whole);
    }
}
