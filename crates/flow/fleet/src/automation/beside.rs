//! The images that tags in files are of, by the fields beside them: `repository` and `tag`, `name` and `newTag`.

use std::collections::BTreeMap;

use bumpwright_yaml::{Files, Node, Value, read_resources};

/// The names of images, by line and column of the tags beside them. A file that is not YAML has none.
pub(super) fn images_beside(path: &str, bytes: &[u8]) -> BTreeMap<(usize, usize), String> {
    let mut images = BTreeMap::new();
    if let Ok(documents) = read_resources(bytes, Files::default().add(path)) {
        documents.iter().for_each(|document| search(document, &mut images));
    }
    images
}

/// Whether two images have other names. Where they come from does not count: a registry may be a mirror.
pub(super) fn is_other(one: &str, other: &str) -> bool {
    let name = |image: &str| {
        let image = image.split_once('@').map_or(image, |(image, _)| image);
        let last = image.rsplit_once('/').map_or(image, |(_, last)| last);
        last.split_once(':').map_or(last, |(name, _)| name).to_owned()
    };
    name(one) != name(other)
}

fn search(node: &Node, images: &mut BTreeMap<(usize, usize), String>) {
    match &node.value {
        Value::Mapping(mapping) => {
            let name = image_name(node);
            for entry in &mapping.entries {
                let is_tag = matches!(entry.key.text.as_str(), "tag" | "newTag") && entry.value.as_scalar().is_some();
                if let Some(name) = name.filter(|_| is_tag) {
                    let place = entry.value.place;
                    images.insert((place.line as usize, place.column as usize), name.to_owned());
                }
                search(&entry.value, images);
            }
        }
        Value::Sequence(sequence) => sequence.items.iter().for_each(|item| search(item, images)),
        Value::Scalar(_) => {}
    }
}

/// The name of the image that a mapping is about.
fn image_name(node: &Node) -> Option<&str> {
    let text = |key: &str| node.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
    let name = ["newName", "repository", "image"].into_iter().find_map(text);
    // Whatever has a name has it under this key.
    let name = name.or_else(|| text("name").filter(|name| name.contains('/')))?;
    (!name.contains("${") && !name.contains("{{")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_of_the_image_beside_it() {
        let text = b"image: {repository: o/web, tag: '1'}\nimages:\n- name: o/a\n  newName: o/b\n  newTag: 2\n- {name: c, newTag: 3}\n";
        let images = images_beside("a.yaml", text);
        let found: Vec<(usize, usize, &str)> = images
            .iter()
            .map(|((line, column), name)| (*line, *column, name.as_str()))
            .collect();
        assert_eq!(found, [(1, 33, "o/web"), (5, 11, "o/b")]);
        assert!(images_beside("a.yaml", b"a: [").is_empty());
    }

    #[test]
    fn images_differ_by_their_names() {
        assert!(is_other("r.io/apps/web", "r.io/apps/worker"));
        assert!(!is_other("mirror:5000/apps/web:1", "apps/web"));
        assert!(!is_other("web@sha256:ab", "o/web"));
    }
}
