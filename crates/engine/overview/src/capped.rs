//! Lists of which no more than a few entries are kept: objects of tenants may have a hundred thousand, and a page shows some dozens.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

/// The first entries of a list, at most so many, and the number of all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capped<T, const MOST: usize> {
    /// The first entries.
    pub few: Vec<T>,
    /// Number of entries that are left out.
    pub left_out: usize,
}

impl<T, const MOST: usize> Default for Capped<T, MOST> {
    fn default() -> Self {
        Self {
            few: Vec::new(),
            left_out: 0,
        }
    }
}

impl<T, const MOST: usize> Capped<T, MOST> {
    /// Number of all entries.
    #[must_use]
    pub fn count(&self) -> usize {
        self.few.len() + self.left_out
    }
}

impl<T, const MOST: usize> std::ops::Deref for Capped<T, MOST> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.few
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Capped<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Reader(PhantomData))
    }
}

struct Reader<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Reader<T, MOST> {
    type Value = Capped<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut capped = Capped::default();
        while capped.few.len() < MOST {
            match items.next_element()? {
                Some(item) => capped.few.push(item),
                None => return Ok(capped),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            capped.left_out += 1;
        }
        capped.few.shrink_to_fit();
        Ok(capped)
    }
}
