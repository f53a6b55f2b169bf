//! Confidential values of built objects: those that came from Secrets by variables, and those that were encrypted.

use bumpwright_kustomize::resource::Resource;
use bumpwright_yaml::{FileId, Node, ReadOptions, Value, read};
use std::collections::BTreeSet;
use std::fmt;

/// Shorter texts are not confidential: they occur everywhere.
const SHORTEST: usize = 4;

/// Objects with confidential values, and the values.
#[derive(Default, Clone)]
pub struct Hidden {
    /// Group, kind and name of the objects, without Secrets.
    pub objects: BTreeSet<[String; 3]>,
    /// The values, as in objects.
    pub texts: BTreeSet<String>,
}

/// Shows only their number.
impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hidden in {} objects", self.objects.len())
    }
}

impl Hidden {
    /// Adds the values that a stage has put into an object that was `before`. Secrets are confidential anyway.
    pub(super) fn put_into(&mut self, resource: &Resource, before: &Node) {
        let mut was = BTreeSet::new();
        each_text(before, &mut |text| {
            was.insert(text);
        });
        self.texts_of(&resource.node, |text| !was.contains(text));
        self.add(resource);
    }

    /// Adds the values of a Secret. Its keys are ordinary words: `username`, `password`.
    pub(super) fn secret(&mut self, resource: &Resource) {
        for field in ["data", "stringData"] {
            let data = resource.node.get(field).filter(|_| is_secret(resource));
            if let Some(data) = data.and_then(Node::as_mapping) {
                data.entries
                    .iter()
                    .for_each(|entry| self.texts_of(&entry.value, |_| true));
            }
        }
    }

    /// Adds the values of a decrypted file. One that is not YAML is confidential line by line.
    pub(super) fn file(&mut self, cipher: &[u8], plain: &[u8]) {
        let nodes = |bytes: &[u8]| read(bytes, &ReadOptions::sigs(FileId::NONE));
        let Ok(after) = nodes(plain) else {
            let lines = plain
                .split(|byte| *byte == b'\n')
                .filter_map(|line| std::str::from_utf8(line).ok());
            let lines = lines.map(str::trim).filter(|line| line.len() >= SHORTEST);
            return self.texts.extend(lines.map(str::to_owned));
        };
        let before: Vec<Node> = nodes(cipher).into_iter().flatten().collect();
        let mut was = BTreeSet::new();
        before.iter().for_each(|node| {
            each_text(node, &mut |text| {
                was.insert(text);
            });
        });
        after
            .iter()
            .for_each(|node| self.texts_of(node, |text| !was.contains(text)));
    }

    /// Adds an object if it contains one of the values, however it came there.
    pub(super) fn look_at(&mut self, resource: &Resource) {
        let mut holds = false;
        each_text(&resource.node, &mut |text| {
            holds |= self.texts.iter().any(|hidden| text.contains(hidden.as_str()));
        });
        if holds {
            self.add(resource);
        }
    }

    fn add(&mut self, resource: &Resource) {
        if !is_secret(resource) {
            let gvk = &resource.id().gvk;
            let name = [gvk.group.as_str(), gvk.kind.as_str(), resource.name()];
            self.objects.insert(name.map(str::to_owned));
        }
    }

    fn texts_of(&mut self, node: &Node, is_hidden: impl Fn(&str) -> bool) {
        each_text(node, &mut |text| {
            if text.len() >= SHORTEST && is_hidden(text) {
                self.texts.insert(text.to_owned());
            }
        });
    }
}

fn is_secret(resource: &Resource) -> bool {
    let gvk = &resource.id().gvk;
    gvk.group.is_empty() && gvk.kind == "Secret"
}

/// All scalars of a node, and all keys: they may have variables, too.
fn each_text<'n>(node: &'n Node, visit: &mut impl FnMut(&'n str)) {
    let mut waiting = vec![node];
    while let Some(node) = waiting.pop() {
        match &node.value {
            Value::Scalar(scalar) => visit(&scalar.text),
            Value::Sequence(sequence) => waiting.extend(&sequence.items),
            Value::Mapping(mapping) => {
                mapping.entries.iter().for_each(|entry| visit(&entry.key.text));
                waiting.extend(mapping.entries.iter().map(|entry| &entry.value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As of a `.env` file, or of a key in PEM, whose values no reader of YAML has.
    #[test]
    fn a_decrypted_file_that_is_not_yaml_is_hidden_line_by_line() {
        let mut hidden = Hidden::default();
        hidden.file(b"a: ENC[x]\n", b"a: hunter22\nb: ab\n");
        hidden.file(b"ENC[y]", b"\tkey = [hunter33\n  } other: secret44\nab\n");
        let expected = ["hunter22", "key = [hunter33", "} other: secret44"];
        assert_eq!(hidden.texts, expected.map(str::to_owned).into());
    }
}
