//! YAML trees with plain text, wiped after they are printed.

use bumpwright_yaml::{Annotated, AnnotatedDocument, AnnotatedValue};
use zeroize::Zeroize;

/// Documents that are wiped when dropped.
pub(crate) struct Wiped(pub(crate) Vec<AnnotatedDocument>);

impl Drop for Wiped {
    fn drop(&mut self) {
        for document in &mut self.0 {
            document.head.zeroize();
            document.foot.zeroize();
            wipe(&mut document.root);
        }
    }
}

fn wipe(node: &mut Annotated) {
    for comment in [&mut node.head, &mut node.line, &mut node.foot] {
        comment.zeroize();
    }
    match &mut node.value {
        // A long text is wiped in place; a short one is stored in the node itself, where the empty one replaces it.
        AnnotatedValue::Scalar(scalar) => String::from(std::mem::take(&mut scalar.text)).zeroize(),
        AnnotatedValue::Mapping(entries) => {
            for (key, value) in entries {
                wipe(key);
                wipe(value);
            }
        }
        AnnotatedValue::Sequence(items) => items.iter_mut().for_each(wipe),
        AnnotatedValue::Alias(target) => wipe(target),
    }
}
