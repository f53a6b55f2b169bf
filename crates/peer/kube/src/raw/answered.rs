//! Answers with their memory reservation: the owner of a server controls the size of its answers.

use std::ops::{Deref, DerefMut};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use bumpwright_budget::{Exceeded, Reservation, Share};

/// Uid and version of an object (`metav1.PartialObjectMetadata`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stamp {
    /// The namespace; empty for objects of the cluster.
    #[serde(default)]
    pub namespace: String,
    pub name: String,
    #[serde(default)]
    pub uid: String,
    #[serde(default)]
    pub resource_version: String,
}

/// Bytes of memory of a map that is not empty, and of an entry in a map or list. Measured: serde_json's
/// maps are B-trees, whose smallest leaf has eleven entries.
pub(crate) const MAP: u64 = 700;
pub(crate) const PLACE: u64 = 100;

/// The factor of memory to text of a typed list: `{"metadata":{"name":""}}` is four texts of 24 bytes, in a
/// list that has doubled.
const TYPED: u64 = 8;

/// An answer with its reservation in the requester's share of memory.
#[derive(Debug)]
pub struct Answered<T> {
    value: T,
    held: Reservation,
}

impl<T> Deref for Answered<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Answered<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// Parses an answer. `room` reserves its bytes; memory for the value is reserved before parsing.
pub(crate) fn read<T: Answer>(bytes: &[u8], mut room: Reservation) -> Result<Answered<T>, ReadError> {
    room.grow(T::most(bytes)).map_err(ReadError::Exceeded)?;
    let value: T = serde_json::from_slice(bytes).map_err(ReadError::Malformed)?;
    room.shrink(room.bytes().saturating_sub(value.weight()));
    Ok(Answered { value, held: room })
}

impl<T> Answered<T> {
    /// Starts with an empty value.
    pub(crate) fn empty(value: T, share: &Share) -> Result<Self, Exceeded> {
        let held = share.reserve(0)?;
        Ok(Self { value, held })
    }

    /// Merges another answer, with its reservation.
    pub(crate) fn take<U>(&mut self, other: Answered<U>, take: impl FnOnce(&mut T, U)) -> Result<(), Exceeded> {
        let Answered { value, held } = other;
        let bytes = held.bytes();
        drop(held);
        self.held.grow(bytes)?;
        take(&mut self.value, value);
        Ok(())
    }

    /// The value without the reservation, for values of bounded size.
    pub(crate) fn into_value(self) -> T {
        self.value
    }
}

/// Why an answer cannot be read.
pub(crate) enum ReadError {
    Exceeded(Exceeded),
    Malformed(serde_json::Error),
}

/// A type of answers.
pub(crate) trait Answer: DeserializeOwned {
    /// The most bytes of memory for a text.
    fn most(text: &[u8]) -> u64 {
        TYPED * text.len() as u64
    }

    /// The memory of the value.
    fn weight(&self) -> u64;
}

impl Answer for Value {
    fn most(text: &[u8]) -> u64 {
        let cost = |byte: &u8| match byte {
            b'{' => MAP + PLACE,
            b'[' | b',' | b':' => PLACE,
            _ => 1,
        };
        PLACE + text.iter().map(cost).sum::<u64>()
    }

    fn weight(&self) -> u64 {
        let mut weight = 0;
        let mut waiting = vec![self];
        while let Some(value) = waiting.pop() {
            weight += PLACE;
            match value {
                Value::String(text) => weight += text.len() as u64,
                Value::Array(items) => waiting.extend(items),
                Value::Object(fields) => {
                    weight += if fields.is_empty() { 0 } else { MAP };
                    weight += fields.keys().map(|key| key.len() as u64).sum::<u64>();
                    waiting.extend(fields.values());
                }
                _ => {}
            }
        }
        weight
    }
}

impl Answer for Stamp {
    fn weight(&self) -> u64 {
        let texts = [&self.namespace, &self.name, &self.uid, &self.resource_version];
        2 * PLACE + texts.map(|text| text.len() as u64).iter().sum::<u64>()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_budget::{BUILD_MEMORY, Memory};

    #[test]
    fn the_estimate_is_never_less_than_what_is_there() {
        for text in [
            r#"{"a":{"b":{"c":{}}},"d":[1,2,3,[[[]]],null,true],"e":"text"}"#,
            "[{},{},{},[],[],[]]",
            r#"[{"a":1},{"a":1},{"a":1}]"#,
            r#""text""#,
            "0",
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            let most = <Value as Answer>::most(text.as_bytes());
            assert!(value.weight() <= most, "{text}: {} > {most}", value.weight());
        }
    }

    #[test]
    fn an_answer_holds_what_it_takes_until_it_is_dropped() {
        let memory = Memory::single(100_000, BUILD_MEMORY);
        let share = memory.of("apps");
        let read = |text: &str| {
            let room = share.reserve(2 * text.len() as u64).unwrap();
            super::read::<Value>(text.as_bytes(), room)
        };
        let answer = read(r#"{"metadata":{"name":"a"}}"#).ok().unwrap();
        assert_eq!(memory.held(), answer.weight());
        drop(answer);
        assert_eq!(memory.held(), 0);
        let maps = format!("[{}{{}}]", r#"{"a":0},"#.repeat(1000));
        assert!(matches!(read(&maps), Err(ReadError::Exceeded(_))));
        assert!(matches!(read("{"), Err(ReadError::Malformed(_))));
        assert_eq!(memory.held(), 0);
    }

    /// Answers with mutations, the same ones each time.
    #[test]
    fn tampered_answers_are_refused_or_read_and_hold_nothing() {
        let whole = r#"{"kind":"List","items":[{"metadata":{"name":"a","uid":"1","labels":{"b":"\u00e9"}}},[1,2.5e3,null,true]]}"#;
        let parts = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\\u",
            "1e999",
            "null",
            "{\"a\":{\"a\":",
            "[[[[[[[[",
        ];
        let memory = Memory::single(64 << 10, BUILD_MEMORY);
        let (mut random, mut good) = (fastrand::Rng::with_seed(21), 0);
        for _ in 0..5000 {
            let mut text = whole.as_bytes().to_vec();
            for _ in 0..=random.usize(..3) {
                let at = random.usize(..=text.len());
                let end = (at + random.usize(..2)).min(text.len());
                let count = 1 + random.usize(..3) * random.usize(..300);
                text.splice(at..end, random.choice(parts).unwrap().repeat(count).bytes());
            }
            let Ok(room) = memory.of("apps").reserve(2 * text.len() as u64) else {
                continue;
            };
            if let Ok(answer) = super::read::<Value>(&text, room) {
                good += 1;
                assert_eq!(memory.held(), answer.weight());
            }
            assert_eq!(memory.held(), 0);
        }
        assert!(good > 10, "{good}");
    }
}
