//! The formats of SOPS, detected by name and by content.

/// The format of an encrypted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Any bytes; encrypted they are one value in JSON.
    Binary,
    Dotenv,
    /// Sections of `name = value` lines.
    Ini,
    /// JSON with an object at its top.
    Json,
    /// YAML documents with mappings at their top.
    Yaml,
}

/// The name of the entry with credentials for registries, which are JSON (K-155).
const DOCKER_CONFIG: &str = ".dockerconfigjson";

impl Format {
    /// The format for the end of a path or of a key; [`Format::Binary`] for all others.
    #[must_use]
    pub(crate) fn of_path(path: &str) -> Self {
        let ends = |ending: &[&str]| ending.iter().any(|ending| path.ends_with(ending));
        if ends(&[DOCKER_CONFIG, ".json"]) {
            Self::Json
        } else if ends(&[".yaml", ".yml"]) {
            Self::Yaml
        } else if ends(&[".env"]) {
            Self::Dotenv
        } else if ends(&[".ini"]) {
            Self::Ini
        } else {
            Self::Binary
        }
    }

    /// The bytes that every encrypted file of this format contains.
    const fn marker(self) -> &'static [u8] {
        match self {
            Self::Binary | Self::Json => br#""mac": "ENC["#,
            Self::Dotenv => b"sops_mac=ENC[",
            Self::Ini => b"[sops]",
            Self::Yaml => b"mac: ENC[",
        }
    }

    /// Whether bytes look like an encrypted file of this format.
    #[must_use]
    pub fn is_marked(self, bytes: &[u8]) -> bool {
        let marker = self.marker();
        bytes.windows(marker.len()).any(|window| window == marker)
    }

    /// The format that bytes look encrypted in. kustomize-controller checks the markers in random order; here the first
    /// match in a fixed order counts.
    #[must_use]
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        [Self::Json, Self::Yaml, Self::Dotenv, Self::Ini]
            .into_iter()
            .find(|format| format.is_marked(bytes))
    }

    /// Its name in kustomize-controller's errors.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Dotenv => "dotenv",
            Self::Ini => "INI",
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        }
    }
}
