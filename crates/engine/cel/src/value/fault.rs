//! Errors of an evaluation.

/// An error in place of a value. Logic operators can absorb it, unless it is final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    text: String,
    kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultKind {
    Plain,
    MissingAttribute,
    Final,
}

impl Fault {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            kind: FaultKind::Plain,
        }
    }

    /// A function does not accept the values.
    pub(crate) fn no_overload() -> Self {
        Self::new("no such overload")
    }

    /// No variable has any of these names.
    pub(crate) fn missing_attribute(names: &str) -> Self {
        Self {
            text: format!("no such attribute(s): {names}"),
            kind: FaultKind::MissingAttribute,
        }
    }

    /// The evaluation exceeds its budget and ends.
    pub fn interrupted() -> Self {
        Self {
            text: "operation interrupted".to_owned(),
            kind: FaultKind::Final,
        }
    }

    pub(crate) fn is_missing_attribute(&self) -> bool {
        self.kind == FaultKind::MissingAttribute
    }

    pub fn is_final(&self) -> bool {
        self.kind == FaultKind::Final
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
