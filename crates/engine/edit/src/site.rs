//! A scalar that is set: its place, value and spelling.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::model::{DocumentId, Setter};

/// The fields of a file that are to be set, by their numbers among its scalars; several where each depends on the image
/// of its policy.
pub type Choice = BTreeMap<usize, Vec<(Setter, ByRule)>>;

/// A scalar of a file that is set, by its marker or a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// What it is set to.
    pub setter: Setter,
    /// The bytes of the spelling, with quotes, without tag and anchor; for a block scalar its content, from the line
    /// after the header to the end of the last significant line.
    pub span: Range<usize>,
    /// Line of the scalar (of a block scalar's header), from 1.
    pub line: usize,
    /// Column of the scalar (of a block scalar's header) in characters, from 1.
    pub column: usize,
    pub value: String,
    /// The text at `span`.
    pub text: String,
    pub spelling: Spelling,
    /// An explicit tag for a type other than string (`!!int`), with the blanks after it: it is removed when the value
    /// changes.
    pub untag: Option<(Range<usize>, String)>,
    /// Whether an explicit tag prevents the resolution of the scalar (`!!str`, `!`, `!custom`).
    pub typed: bool,
    /// The object with the scalar.
    pub object: DocumentId,
    /// The rule that names it, if it has no marker.
    pub rule: Option<ByRule>,
    /// The collection that it is in, by its number in the file; none outside of YAML.
    pub collection: Option<usize>,
    /// Its key there; empty for items of lists, and outside of YAML.
    pub key: String,
}

/// The rule by which a field is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByRule {
    /// Its number in its file.
    pub number: usize,
    /// The image that the policy has to be of.
    pub image: Option<String>,
    /// Whether it is in the query of an address.
    pub in_query: bool,
}

/// A tag or a digest that nothing sets, beside a field that is set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Neighbour {
    /// The collection that both are in, by its number in the file.
    pub collection: usize,
    pub key: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    pub value: String,
}

impl Site {
    /// One outside of YAML, whose text at `span` is its value. `None` where the span is not a part of the text.
    pub(super) fn verbatim(
        setter: Setter,
        text: &str,
        span: Range<usize>,
        (line, column): (usize, usize),
    ) -> Option<Self> {
        let text = text.get(span.clone())?.to_owned();
        Some(Self {
            setter,
            span,
            line,
            column,
            value: text.clone(),
            text,
            spelling: Spelling::Verbatim,
            untag: None,
            typed: true,
            object: DocumentId::default(),
            rule: None,
            collection: None,
            key: String::new(),
        })
    }
}

/// The style of a scalar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spelling {
    Plain {
        /// Whether it is inside `[]` or `{}`.
        flow: bool,
    },
    /// `'…'`.
    Single,
    /// `"…"`.
    Double,
    /// `|` or `>`.
    Block(BlockShape),
    /// Outside of YAML: the value as it is, between quotes if there are any.
    Verbatim,
}

/// The layout of a block scalar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockShape {
    /// The indicators after `|` or `>`.
    pub indicators: Range<usize>,
    /// Their text, such as `2-`.
    pub indicators_text: String,
    /// Blanks before each line of content.
    pub indent: usize,
    /// Text before a new first line: nothing, or a line break if the scalar is still empty.
    pub lead: String,
}
