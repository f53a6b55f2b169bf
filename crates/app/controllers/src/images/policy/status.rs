//! The status of an ImagePolicy (image-reflector-controller v1.2, *ImagePolicy*).

use serde_json::{Value, json};

use super::Chosen;
use super::choose::Choice;
use bumpwright_policy::LatestRef;
use bumpwright_runtime::{Outcome, Status};
use bumpwright_text::between;

pub(super) fn ready(status: &mut Status, chosen: Chosen) -> Outcome {
    let (before, after) = (chosen.before, chosen.after);
    let (image, kept) = match chosen.choice {
        Choice::Chosen(image) => (image, None),
        Choice::Kept(image, why) => (image, Some(why)),
    };
    let fields = &mut status.fields;
    if before.as_ref() != Some(&image) {
        match &before {
            Some(before) => fields.insert("observedPreviousRef".to_owned(), json!(before)),
            None => fields.remove("observedPreviousRef"),
        };
    }
    fields.insert("latestRef".to_owned(), json!(image));
    // Fields for readers of v1beta1 and v1beta2 (C36).
    fields.insert("latestImage".to_owned(), json!(image.to_string()));
    let message = message(&image, fields.get("observedPreviousRef"), kept.as_deref());
    Outcome::Ready {
        news: (status.message_before() != message).then(|| message.clone()),
        trace: message.clone(),
        message,
        after,
    }
}

/// Removes the image from the status: none may be written.
pub(super) fn without_image(status: &mut Status) {
    for field in ["latestRef", "latestImage"] {
        status.fields.remove(field);
    }
}

/// The message of Ready (image-reflector-controller v1.2, `composeImagePolicyReadyMessage`), followed by our reason for
/// keeping an older image.
fn message(image: &LatestRef, previous: Option<&Value>, kept: Option<&str>) -> String {
    let mut message = format!("Latest image tag for {} resolved to {}", image.name, image.tag);
    if let Some(digest) = &image.digest {
        message.push_str(&format!(" with digest {digest}"));
    }
    let text = |field: &str| previous.and_then(|previous| previous.get(field)?.as_str());
    if let (Some(name), Some(tag)) = (text("name"), text("tag")) {
        let digest = text("digest").filter(|digest| !digest.is_empty());
        let same = (name, tag, digest) == (&image.name, &image.tag, image.digest.as_deref());
        if !same {
            let digest = between("@", digest, "");
            message.push_str(&format!(" (previously {name}:{tag}{digest})"));
        }
    }
    match kept {
        Some(why) => format!("{message}\n{why}"),
        None => message,
    }
}
