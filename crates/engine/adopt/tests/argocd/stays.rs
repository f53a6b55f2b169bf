//! What stays with argocd-image-updater, so that nothing loses its updates, and what of it is done by hand.

use bumpwright_adopt::Weight;

use super::adoptions::file;
use super::{PREFIX, SOURCE, adopted, application, new, remarks};

/// argocd-image-updater takes `1.0` for a version and Flux does not: a policy would find no update.
#[test]
fn an_image_with_short_versions_stays() {
    for (list, tag, is_left) in [
        ("image-list: web=acme/web", "1.0", true),
        ("image-list: web=acme/web:1.x", "v1.2", true),
        ("image-list: web=acme/web:1.x", "1", true),
        ("image-list: web=acme/web:1.x", "1.0.0", false),
        // No version for either: what the first update replaces.
        ("image-list: web=acme/web:1.x", "latest", false),
        // Out of the range, and the others are likely to be alike.
        ("image-list: web=acme/web:2.x", "1.0", true),
    ] {
        let files = [
            file(
                "web.yaml",
                &application("web", &[list, "write-back-method: git"], SOURCE),
            ),
            file("apps/web/pod.yaml", &format!("image: acme/web:{tag}\n")),
        ];
        let adoption = adopted(&files);
        let left = remarks(&adoption, Weight::Left);
        let why = format!(
            "apps/web/pod.yaml:1:8: the tag in use is {tag:?}, a version for argocd-image-updater, but not for Flux"
        );
        assert_eq!(left.iter().any(|text| text.contains(&why)), is_left, "{tag}: {left:?}");
        assert_eq!(adoption.edited.is_empty(), is_left, "{tag}: {left:?}");
    }
}
