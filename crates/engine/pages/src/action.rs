//! What a person can ask for with a form.

/// What a person can ask for. A form is sent by POST to [`crate::Route::Act`] with the fields `csrf`, `action`
/// ([`Action::word`]), `kind`, `namespace`, `name` and `back` (the path to return to).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reconcile an object now.
    Reconcile,
    Suspend,
    Resume,
    /// Release the held image of an ImagePolicy: versions that failed may be chosen again.
    Release,
    /// Let a Kustomization delete what it wants to prune.
    ApprovePrune,
}

impl Action {
    pub const ALL: [Self; 5] = [
        Self::Reconcile,
        Self::Suspend,
        Self::Resume,
        Self::Release,
        Self::ApprovePrune,
    ];

    /// The value of the field `action`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reconcile => "reconcile",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Release => "release",
            Self::ApprovePrune => "approve-prune",
        }
    }

    /// The action of a value of the field `action`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }
}
