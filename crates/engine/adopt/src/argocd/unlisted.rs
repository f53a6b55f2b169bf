//! Annotations that argocd-image-updater does not read, with the ones that were meant.

use super::application::Application;
use super::settings::Annotations;
use crate::draft::Draft;
use crate::remarks::Weight;

/// Without a list of images nothing of an Application is updated: its annotations say something else than was meant.
pub(super) fn tell_unlisted(draft: &mut Draft<'_>, application: &Application<'_>, annotations: &Annotations<'_>) {
    let settings = annotations.all();
    let misspelt = settings
        .iter()
        .find(|told| Annotations::meant(&told.name).as_deref() == Some("image-list"));
    if let Some(told) = misspelt.or(settings.first()) {
        let text = format!(
            "{} has no effect: there is no image-list, so argocd-image-updater does nothing here{}",
            told.name,
            meant(&told.name)
        );
        let weight = if misspelt.is_some() { Weight::Left } else { Weight::Note };
        draft.tell(weight, told.at, &application.subject(), text);
    }
}

/// The annotation that was probably meant, for the end of a remark.
pub(super) fn meant(key: &str) -> String {
    Annotations::meant(key).map_or_else(String::new, |near| format!("; did you mean {near}?"))
}
