//! Where an image was built from, as its labels say.

use serde::Deserialize;

use super::age::{configuration, descend};
use super::manifest::{MOST, of_image};
use super::session::Session;
use crate::RegistryError;
use bumpwright_budget::FewTexts;

/// The longest label that counts, in bytes.
const LONGEST: usize = 2048;

const SOURCE: &str = "org.opencontainers.image.source";
const REVISION: &str = "org.opencontainers.image.revision";
const VERSION: &str = "org.opencontainers.image.version";

/// Where an image was built from (image-spec v1.1, *Annotations*): what its publisher says, which nobody has checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The address of its source, such as `https://github.com/acme/web`.
    pub source: Option<String>,
    /// The revision of the source.
    pub revision: Option<String>,
    /// The version of what is packaged.
    pub version: Option<String>,
}

/// See [`crate::Registry::origin`].
///
/// # Errors
/// When something cannot be fetched, or does not match its digest.
pub(crate) fn of(session: &mut Session<'_>) -> Result<Origin, RegistryError> {
    #[derive(Deserialize)]
    struct Config {
        config: Option<Inner>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Inner {
        labels: Option<FewTexts<MOST>>,
    }
    let answer = of_image(session)?;
    let manifests = descend(session, &answer)?;
    let config = match manifests.last() {
        Some(image) => configuration(session, image)?,
        None => None,
    };
    let config: Option<Config> = config.and_then(|answer| serde_json::from_slice(&answer.body).ok());
    let labels = config.and_then(|config| config.config?.labels);
    let annotations = manifests.iter().rev().map(|manifest| &manifest.annotations);
    let sources: Vec<&FewTexts<MOST>> = labels.iter().chain(annotations).collect();
    let label = |key: &str| {
        let mut texts = sources.iter().filter_map(|texts| texts.0.get(key));
        texts.find(|text| !text.is_empty() && text.len() <= LONGEST).cloned()
    };
    Ok(Origin {
        source: label(SOURCE),
        revision: label(REVISION),
        version: label(VERSION),
    })
}
