//! Values that one rendering shares: memory of texts that are used together, and repeated structs.

use super::{
    data::{ObjectIdentifier, ObjectName},
    images, names,
};
use bumpwright_policy::Reference;
use bumpwright_template::{Text, Value};

/// Greatest number of values that are kept for reuse. Usually there are fewer.
const MAX_KNOWN: usize = 16;

/// Makes values, and reuses repeated ones.
#[derive(Default)]
pub(super) struct Shared<'d> {
    buffer: Vec<u8>,
    /// The kinds of objects. Sharing them makes comparing objects as keys of maps cheap.
    kinds: Vec<((&'d str, &'d str), Value)>,
    registries: Vec<(&'d str, Value)>,
}

impl<'d> Shared<'d> {
    /// Texts in one allocation.
    pub(super) fn texts<const N: usize>(&mut self, texts: [&str; N]) -> [Value; N] {
        self.buffer.clear();
        texts
            .iter()
            .for_each(|text| self.buffer.extend_from_slice(text.as_bytes()));
        let whole = Text::from(self.buffer.as_slice());
        let mut at = 0;
        texts.map(|text| {
            let start = at;
            at += text.len();
            Value::String(whole.shared_part(start..at))
        })
    }

    /// The value of an identifier.
    pub(super) fn identifier(&mut self, object: &'d ObjectIdentifier) -> Value {
        let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
        let kind = known(&mut self.kinds, (version, kind), || names::kind(version, kind));
        let [name, namespace] = self.texts([&object.name, &object.namespace]);
        names::identifier(kind, name, namespace)
    }

    /// The value of a namespaced name.
    pub(super) fn name(&mut self, name: &ObjectName) -> Value {
        names::namespaced_name(self.texts([&name.namespace, &name.name]))
    }

    /// The value of a registry.
    pub(super) fn registry(&mut self, reference: &'d Reference) -> Value {
        let name = reference.registry();
        known(&mut self.registries, name, || images::registry_value(name.into()))
    }
}

/// The value of a name, from the latest ones if possible.
fn known<K: PartialEq>(all: &mut Vec<(K, Value)>, name: K, make: impl FnOnce() -> Value) -> Value {
    if let Some((_, value)) = all.iter().find(|(known, _)| *known == name) {
        return value.clone();
    }
    let value = make();
    if all.len() >= MAX_KNOWN {
        all.clear();
    }
    all.push((name, value.clone()));
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_what_was_asked_for() {
        let kinds: Vec<ObjectIdentifier> = (0..2 * MAX_KNOWN + 1)
            .map(|n| ObjectIdentifier {
                kind: format!("Kind{}", n % (MAX_KNOWN + 1)),
                name: format!("name-{n}"),
                ..ObjectIdentifier::default()
            })
            .collect();
        let mut shared = Shared::default();
        for object in &kinds {
            let value = format!("{:?}", shared.identifier(object));
            for text in [&object.kind, &object.name] {
                assert!(value.contains(&format!("{text:?}")), "{value}");
            }
        }
        let [a, empty, b] = shared.texts(["a", "", "b\u{e9}"]);
        assert_eq!(
            format!("{a:?}{empty:?}{b:?}"),
            "String(\"a\")String(\"\")String(\"b\u{e9}\")"
        );
    }
}
