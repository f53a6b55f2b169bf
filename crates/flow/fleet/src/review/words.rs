//! Texts that the comments of all forges have.

use bumpwright_text::Excerpt;
use bumpwright_update::ChangedWorkload;

/// The longest text of a finding or an image, in characters.
const LONGEST: usize = 300;
/// The most images of one workload.
const IMAGES: usize = 2;

/// Old and new images of a workload, the first ones of many; `show` is how one is written.
pub(super) fn images(workload: &ChangedWorkload, show: impl Fn(&str) -> String) -> Vec<String> {
    let shown = workload
        .images
        .iter()
        .take(IMAGES)
        .map(|image| match (image.old.as_str(), image.new.as_str()) {
            ("", new) => show(&cut(new)),
            (old, "") => format!("{} → none", show(&cut(old))),
            (old, new) => format!("{} → {}", show(&cut(old)), show(&cut(new))),
        });
    let mut shown: Vec<String> = shown.collect();
    if let Some(more) = workload.images.len().checked_sub(IMAGES).filter(|more| *more > 0) {
        shown.push(format!("and {more} more"));
    }
    shown
}

/// What becomes of the pods of a workload, else of itself.
pub(super) fn effect(workload: &ChangedWorkload) -> String {
    if workload.restarts {
        "restarts".to_owned()
    } else {
        workload.summary()
    }
}

pub(super) fn cut(text: &str) -> String {
    text.excerpt(LONGEST).into_owned()
}

pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next();
    first.into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}
