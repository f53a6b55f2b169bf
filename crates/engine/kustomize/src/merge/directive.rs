//! `$patch` directives in mappings and lists.

use super::MergeError;
use super::elements::{Setter, scalar_text};
use bumpwright_yaml::{Mapping, Node, Place};

const KEY: &str = "$patch";

/// The directive at one place of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    /// Merge; also the default.
    Merge,
    /// Replace the existing value by the patch.
    Replace,
    /// Remove the existing value.
    Delete,
}

impl Directive {
    fn read(text: &str, place: Place) -> Result<Self, MergeError> {
        match text {
            "merge" => Ok(Self::Merge),
            "replace" => Ok(Self::Replace),
            "delete" => Ok(Self::Delete),
            _ => Err(MergeError::Directive {
                path: String::new(),
                strategy: text.to_owned(),
                place,
            }),
        }
    }
}

/// The directive of a mapping, which is removed from it.
pub(super) fn of_mapping(mapping: &mut Mapping) -> Result<Directive, MergeError> {
    let Some(value) = mapping.get(KEY) else {
        return Ok(Directive::Merge);
    };
    let directive = Directive::read(scalar_text(value), value.place)?;
    mapping.remove(KEY);
    Ok(directive)
}

/// The directive of a list: that of an element with nothing but `$patch`. Elements with the same directive are removed.
pub(super) fn of_list(items: &mut Vec<Node>) -> Result<Directive, MergeError> {
    let marked = items.iter().find_map(|item| Some((item.as_mapping()?, item.get(KEY)?)));
    let Some((mapping, value)) = marked else {
        return Ok(Directive::Merge);
    };
    if mapping.entries.len() > 1 {
        return Ok(Directive::Merge);
    }
    let text = scalar_text(value).to_owned();
    let directive = Directive::read(&text, value.place)?;
    let mut places: Vec<usize> = (0..items.len()).collect();
    Setter {
        nodes: items,
        keys: &[KEY],
        values: &[&text],
    }
    .set(&mut places, None)?;
    let mut at = 0;
    items.retain(|_| {
        let keep = places.binary_search(&at).is_ok();
        at += 1;
        keep
    });
    Ok(directive)
}
