//! A page of a list of tags.

use std::fmt;

use serde::Deserializer;
use serde::de::{self, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::tag_list::GrowingList;
use bumpwright_budget::Exceeded;

/// A page that is read: tags go from its text into the list, without a list between, which of millions of empty texts
/// would take ten times the size of the page.
pub(crate) struct TagPage<'l> {
    list: &'l mut GrowingList,
    /// The most tags of a page, and of the list.
    most: usize,
    /// The tags of the page so far, known ones and too long ones among them.
    pub(crate) count: usize,
    /// The last of them.
    pub(crate) last: String,
    /// Why reading ended early.
    pub(crate) ended: Option<End>,
}

/// Why a page is not read to its end.
pub(crate) enum End {
    TooMany,
    NoMemory(Exceeded),
}

impl<'l> TagPage<'l> {
    /// A page of a list.
    pub(crate) fn new(list: &'l mut GrowingList, most: usize) -> Self {
        Self {
            list,
            most,
            count: 0,
            last: String::new(),
            ended: None,
        }
    }

    /// Adds the tags of a page. Go reads only the first JSON value; no tags may be `null`.
    pub(crate) fn read(&mut self, body: &[u8]) -> Result<(), serde_json::Error> {
        let mut json = serde_json::Deserializer::from_slice(body);
        (&mut json).deserialize_map(Fields {
            reading: self,
            seen: false,
        })
    }

    fn take(&mut self, tag: &str) -> Result<(), End> {
        self.count += 1;
        self.last.clear();
        self.last.push_str(tag);
        self.list.add(tag).map_err(End::NoMemory)?;
        if self.count > self.most || self.list.list.len() > self.most {
            Err(End::TooMany)
        } else {
            Ok(())
        }
    }
}

/// Reads the object around the list.
struct Fields<'r, 'l> {
    reading: &'r mut TagPage<'l>,
    seen: bool,
}

impl<'de> Visitor<'de> for Fields<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct Tags")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        while let Some(is_tags) = fields.next_key_seed(IsTags)? {
            match (is_tags, self.seen) {
                (false, _) => drop(fields.next_value::<IgnoredAny>()?),
                (true, true) => return Err(A::Error::duplicate_field("tags")),
                (true, false) => {
                    self.seen = true;
                    fields.next_value_seed(Items(self.reading))?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a field is the list.
struct IsTags;

impl<'de> DeserializeSeed<'de> for IsTags {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsTags {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == "tags")
    }
}

/// Reads the list, or `null`.
struct Items<'r, 'l>(&'r mut TagPage<'l>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Item(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

struct Item<'r, 'l>(&'r mut TagPage<'l>);

impl<'de> DeserializeSeed<'de> for Item<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Item<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, tag: &str) -> Result<(), E> {
        self.0.take(tag).map_err(|end| {
            self.0.ended = Some(end);
            E::custom("the list is too long")
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_budget::Memory;

    #[test]
    fn pages() {
        for (body, expected) in [
            (r#"{"name": "a", "tags": ["1", "2", "1"]}"#, Ok((3, "1,2"))),
            (
                r#"{"tags": ["a\u0062", "c"], "more": {"tags": 1}} rest"#,
                Ok((2, "ab,c")),
            ),
            (r#"{"tags": null}"#, Ok((0, ""))),
            (r#"{"t\u0061gs": ["1"]}"#, Ok((1, "1"))),
            ("{}", Ok((0, ""))),
            (r#"{"tags": ["1", "2", "3", "4"]}"#, Err("the list is too long")),
            (r#"{"tags": ["1", "1", "1", "1"]}"#, Err("the list is too long")),
            (r#"{"tags": [], "tags": []}"#, Err("duplicate field `tags`")),
            (r#"{"tags": [null]}"#, Err("invalid type: null, expected a string")),
            (r#"{"tags": {}}"#, Err("invalid type: map, expected a list")),
            (r#""tags""#, Err(r#"invalid type: string "tags", expected struct Tags"#)),
            (r#"{"tags": ["1""#, Err("EOF while parsing a list")),
        ] {
            let mut list = GrowingList::new(&Memory::single(1 << 20, "--fetch-memory").of(""));
            let mut page = TagPage::new(&mut list, 3);
            let found = page.read(body.as_bytes()).map(|()| page.count);
            let found = found.map(|count| (count, list.list.join(",")));
            match (found, expected) {
                (Ok((count, tags)), expected) => assert_eq!(Ok((count, tags.as_str())), expected, "{body}"),
                (Err(error), expected) => {
                    assert!(
                        expected.is_err_and(|part| error.to_string().contains(part)),
                        "{body}: {error}"
                    );
                }
            }
        }
    }
}
