//! A marked scalar: where it stands, what it holds and how it is spelled.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::model::{DocumentId, Setter};

/// One marked scalar of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// What the marker asks for.
    pub setter: Setter,
    /// The bytes of the scalar's spelling: with its quotes, without tag and anchor; of a block scalar its content,
    /// from the line after the header to the end of the last line that counts.
    pub span: Range<usize>,
    /// Line of the scalar (of a block scalar's header), from 1.
    pub line: usize,
    /// Column of the scalar (of a block scalar's header) in characters, from 1.
    pub column: usize,
    /// The value as YAML reads it.
    pub value: String,
    /// The spelling that stands at `span`.
    pub text: String,
    /// How it is spelled.
    pub spelling: Spelling,
    /// An explicit tag in front of the scalar that makes something else than a string of it (`!!int`), with the
    /// blanks after it: it goes when the value changes.
    pub untag: Option<(Range<usize>, String)>,
    /// Whether an explicit tag says that the scalar is no plain type (`!!str`, `!`, `!custom`).
    pub typed: bool,
    /// The object that holds the scalar.
    pub object: DocumentId,
}

/// How a scalar is spelled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spelling {
    /// Without quotes.
    Plain {
        /// Within `[]` or `{}`.
        flow: bool,
    },
    /// `'…'`.
    Single,
    /// `"…"`.
    Double,
    /// `|` or `>`.
    Block(BlockShape),
}

/// What a block scalar's new content needs to know of its old one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockShape {
    /// The indicators after `|` or `>`.
    pub indicators: Range<usize>,
    /// Their text, such as `2-`.
    pub indicators_text: String,
    /// Blanks before each line of content.
    pub indent: usize,
    /// What goes before a new first line: nothing, or a line break where there is no line of content yet.
    pub lead: String,
}
