//! JSON copied from a deserializer as compact text. A tree of it takes up to eighty times the text: of a megabyte of
//! `{"patch":""}`, which any tenant can store, eighty megabytes for each object of a page.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::raw::answered::{MAP, PLACE};

/// A JSON value as text.
#[derive(Clone, Default)]
pub(crate) struct JsonText {
    text: Vec<u8>,
    tree: u64,
}

impl JsonText {
    /// The text; none of null.
    pub(crate) fn text(&self) -> Option<&str> {
        let text = std::str::from_utf8(&self.text).ok()?;
        (!text.is_empty() && text != "null").then_some(text)
    }

    /// About how many bytes a tree of it would take.
    pub(crate) fn tree(&self) -> u64 {
        self.tree
    }

    /// The beginning of an object.
    pub(crate) fn begin() -> Self {
        Self {
            text: b"{".to_vec(),
            tree: MAP + PLACE,
        }
    }

    /// Appends a field to an object that has begun: the next value of a map.
    pub(crate) fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        self.scalar(key)?;
        self.text.push(b':');
        map.next_value_seed(Copy(self))?;
        self.text.push(b',');
        Ok(())
    }

    /// The end of an object that has begun.
    pub(crate) fn end(&mut self) {
        self.close(b'}');
        self.text.shrink_to_fit();
    }

    fn close(&mut self, bracket: u8) {
        // No value ends with a comma.
        if self.text.last() == Some(&b',') {
            self.text.pop();
        }
        self.text.push(bracket);
    }

    fn scalar<E: Error>(&mut self, value: impl Serialize) -> Result<(), E> {
        let before = self.text.len();
        serde_json::to_writer(&mut self.text, &value).map_err(E::custom)?;
        self.tree += PLACE + (self.text.len() - before) as u64;
        Ok(())
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = Self::default();
        Copy(&mut json).deserialize(deserializer)?;
        json.text.shrink_to_fit();
        Ok(json)
    }
}

/// Appends the next value.
struct Copy<'a>(&'a mut JsonText);

impl<'de> DeserializeSeed<'de> for Copy<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Copy<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.scalar(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.0.scalar(())
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        self.deserialize(value)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.scalar(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.scalar(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.scalar(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.scalar(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let json = self.0;
        json.tree += PLACE;
        json.text.push(b'[');
        while items.next_element_seed(Copy(json))?.is_some() {
            json.text.push(b',');
        }
        json.close(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let json = self.0;
        json.tree += PLACE;
        json.text.push(b'{');
        let mut is_empty = true;
        while fields.next_key_seed(Copy(json))?.is_some() {
            json.text.push(b':');
            fields.next_value_seed(Copy(json))?;
            json.text.push(b',');
            is_empty = false;
        }
        json.tree += if is_empty { 0 } else { MAP };
        json.close(b'}');
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::Value;

    use super::JsonText;
    use crate::raw::answered::Answer as _;

    /// The text is that of the tree, from a text as from a tree.
    #[test]
    fn the_text_is_that_of_the_tree() {
        for text in [
            r#"{ "a" : [ ] , "b" : { } , "c" : [ [ ], [{}, 1] ], "d": {"e": "x,"} }"#,
            r#"[null, true, false, 0, -7, 1.5, 1e300, 18446744073709551615, 1.0, "\"\\\n\u00e9\u0001/"]"#,
            r#""text""#,
            "7",
        ] {
            let tree: Value = serde_json::from_str(text).unwrap();
            let read: JsonText = serde_json::from_str(text).unwrap();
            assert_eq!(read.text().unwrap(), tree.to_string());
            let read: JsonText = serde_json::from_value(tree.clone()).unwrap();
            assert_eq!(read.text().unwrap(), tree.to_string());
            assert!(
                read.tree() >= tree.weight(),
                "{text}: {} < {}",
                read.tree(),
                tree.weight()
            );
        }
        assert!(serde_json::from_str::<JsonText>("null").unwrap().text().is_none());
        for broken in ["", "[1", "{\"a\"", "[1 2]", &"[".repeat(1000)] {
            assert!(serde_json::from_str::<JsonText>(broken).is_err(), "{broken}");
        }
    }

    /// A hostile text is kept in at most its own size, where a tree takes eighty times as much;
    /// the estimate says so.
    #[test]
    fn nothing_swells() {
        for (item, least) in [
            (r#"{"patch":""}"#, 70),
            ("{}", 60),
            ("[]", 60),
            (r#"{"":{}}"#, 100),
            ("1", 50),
        ] {
            let text = format!("[{}{item}]", format!("{item},").repeat(10_000));
            let read: JsonText = serde_json::from_str(&text).unwrap();
            assert!(read.text.capacity() <= text.len(), "{item}");
            let factor = read.tree() / text.len() as u64;
            assert!(factor + 35 > least, "{item}: {factor}");
        }
    }
}
