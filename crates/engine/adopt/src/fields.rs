//! Fields of trees: by the dotted keys of values, by the names of parameters.

use bumpwright_api::tree::Node;

/// The scalar of a dotted key of values, `a.b[1].c`: as nested fields, else as one key that has the dots in it.
pub(crate) fn dotted<'n>(values: &'n Node, key: &str) -> Option<&'n Node> {
    let nested = key.split('.').try_fold(values, |node, part| step(node, part));
    let is_scalar = |node: &&Node| node.text().is_some();
    nested.filter(is_scalar).or_else(|| values.get(key).filter(is_scalar))
}

fn step<'n>(node: &'n Node, part: &str) -> Option<&'n Node> {
    let Some((key, index)) = part.strip_suffix(']').and_then(|part| part.split_once('[')) else {
        return node.get(part);
    };
    let items = node.get(key)?.items();
    items.get(index.parse::<usize>().ok()?).map(|item| &**item)
}

/// The value of a parameter in a list of `name` and `value`.
pub(crate) fn parameter<'n>(list: &'n Node, name: &str) -> Option<&'n Node> {
    let item = list.items().iter().find(|item| item.field_text("name") == Some(name))?;
    item.get("value")
}

/// A field below others.
pub(crate) fn below<'n>(node: &'n Node, keys: &[&str]) -> Option<&'n Node> {
    keys.iter().try_fold(node, |node, key| node.field(key))
}

/// The text of a field below others.
pub(crate) fn text_below<'n>(node: &'n Node, keys: &[&str]) -> Option<&'n str> {
    below(node, keys)?.text()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use bumpwright_api::tree::parse;

    #[test]
    fn keys_are_nested_or_have_dots() {
        let text = "image: {tag: '1'}\nfoo:\n- image: a\n- image: b\nx.y: z\nparams:\n- {name: image.tag, value: v}\n";
        let root = &parse(text).0[0];
        let value = |key: &str| dotted(root, key).and_then(Node::text).map(str::to_owned);
        assert_eq!(value("image.tag").unwrap(), "1");
        assert_eq!(value("foo[1].image").unwrap(), "b");
        assert_eq!(value("x.y").unwrap(), "z");
        assert_eq!(value("image"), None, "it is no scalar");
        assert_eq!(value("foo[2].image"), None);
        let list = root.get("params").unwrap();
        assert_eq!(parameter(list, "image.tag").unwrap().text(), Some("v"));
        assert!(parameter(list, "tag").is_none());
    }
}
