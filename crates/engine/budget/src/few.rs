//! Lists and maps of others, of which no more is kept than their reader can use: an entry of three bytes may take fifty
//! times that in memory, and objects of tenants may have a hundred thousand of them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A list of which the first `MOST` entries are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Few<T, const MOST: usize> {
    pub few: Vec<T>,
    /// Number of entries that are left out.
    pub left_out: usize,
}

impl<T, const MOST: usize> Default for Few<T, MOST> {
    fn default() -> Self {
        Self {
            few: Vec::new(),
            left_out: 0,
        }
    }
}

impl<T, const MOST: usize> Few<T, MOST> {
    /// Number of all entries.
    #[must_use]
    pub fn count(&self) -> usize {
        self.few.len() + self.left_out
    }
}

impl<T, const MOST: usize> std::ops::Deref for Few<T, MOST> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.few
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Few<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T, const MOST: usize>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Reader<T, MOST> {
            type Value = Few<T, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            /// Null is Go's empty list.
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Few::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Few::default();
                while list.few.len() < MOST {
                    match items.next_element()? {
                        Some(item) => list.few.push(item),
                        None => return Ok(list),
                    }
                }
                while items.next_element::<IgnoredAny>()?.is_some() {
                    list.left_out += 1;
                }
                list.few.shrink_to_fit();
                Ok(list)
            }
        }

        deserializer.deserialize_any(Reader(PhantomData))
    }
}

/// A map of texts of which the first `MOST` are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FewTexts<const MOST: usize>(pub BTreeMap<String, String>);

impl<'de, const MOST: usize> Deserialize<'de> for FewTexts<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<const MOST: usize>;

        impl<'de, const MOST: usize> Visitor<'de> for Reader<MOST> {
            type Value = FewTexts<MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            /// Null is Go's empty map.
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(FewTexts::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut texts = BTreeMap::new();
                while texts.len() < MOST
                    && let Some((name, text)) = entries.next_entry()?
                {
                    texts.insert(name, text);
                }
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(FewTexts(texts))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_beyond_the_bound_is_read_and_not_kept() {
        let read = |text: &str| serde_json::from_str::<Few<u8, 3>>(text).map(|list| list.few);
        assert_eq!(read("[]").unwrap(), [0; 0]);
        assert_eq!(read("[1,2,3]").unwrap(), [1, 2, 3]);
        assert_eq!(read(r#"[1,2,3,"x",[{}]]"#).unwrap(), [1, 2, 3]);
        let list: Few<u8, 3> = serde_json::from_str("[1,2,3,4,5]").unwrap();
        assert_eq!((list.left_out, list.count()), (2, 5));
        assert_eq!(read("null").unwrap(), [0; 0], "where Go wrote a list without entries");
        assert!(read("[1,2,3,4").is_err(), "it has to be whole");
        assert!(read(r#"[1,"x"]"#).is_err());
    }

    #[test]
    fn so_are_texts() {
        let read =
            |text: &str| serde_json::from_str::<FewTexts<2>>(text).map(|few| few.0.into_keys().collect::<String>());
        assert_eq!(read(r#"{"b":"","a":"","c":1,"d":[]}"#).unwrap(), "ab");
        assert!(read(r#"{"a":1}"#).is_err());
    }
}
