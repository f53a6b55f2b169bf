//! The ConfigMap of argocd-image-updater.

use bumpwright_api::tree::Node;

use super::write_back::Author;
use crate::draft::Draft;
use crate::fields::text_below;
use crate::remarks::{At, Weight};

const CONFIG: &str = "argocd-image-updater-config";

/// The author of commits; and what else the updater's configuration says.
pub(super) fn author(draft: &mut Draft<'_>, objects: &[(usize, &Node)]) -> Author {
    let mut author = ("argocd-image-updater".to_owned(), "noreply@argoproj.io".to_owned());
    for (file, node) in objects {
        let is_it =
            node.field_text("kind") == Some("ConfigMap") && text_below(node, &["metadata", "name"]) == Some(CONFIG);
        let Some(data) = node.field("data").filter(|_| is_it) else {
            continue;
        };
        for entry in data.entries() {
            let value = entry.node.scalar_text().to_owned();
            let instead = match entry.name() {
                "git.user" => {
                    author.0 = value;
                    continue;
                }
                "git.email" => {
                    author.1 = value;
                    continue;
                }
                "git.commit-message-template" => {
                    "write spec.git.commit.messageTemplate, which has other data (docs/guides/messages.md)"
                }
                "git.commit-signing-key" | "git.commit-signing-method" => {
                    "set spec.git.commit.signingKey (docs/guides/signing.md)"
                }
                "git.commit-sign-off" => "write the line Signed-off-by into spec.git.commit.messageTemplate",
                "registries.conf" => {
                    "logins, addresses and limits of registries are of each ImageRepository (docs/guides/registries.md)"
                }
                _ => continue,
            };
            let at = At {
                file: *file,
                place: entry.key.place,
            };
            draft.tell(Weight::Left, at, "", format!("{}: {instead}", entry.name()));
        }
    }
    author
}
