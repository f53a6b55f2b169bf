//! Why a release is not rendered, and which part of it is at fault.

/// The faults of a release, one at least.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct ReleaseFailure(pub Vec<ReleaseFault>);

/// A fault of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseFault {
    /// In the words of Helm or of helm-controller, without values of Secrets.
    pub text: String,
    /// The part of the release to correct.
    pub part: ReleasePart,
}

/// A part of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleasePart {
    /// Values: their JSON pointers in the merged ones. Without any it is all of them.
    Values(Vec<String>),
    /// A field of the HelmRelease, by its JSON pointer.
    Field(String),
    /// The field that names the chart.
    Chart,
}

impl ReleaseFailure {
    pub(super) fn new(text: String, part: ReleasePart) -> Self {
        Self(vec![ReleaseFault { text, part }])
    }
}

fn lines(faults: &[ReleaseFault]) -> String {
    let texts: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
    texts.join("\n")
}
