//! The metadata of an encrypted file: its master keys, the rule of encrypted leaves, the MAC.

use super::fields::{FieldError, Fields};
use super::key::service::MasterKey;
use super::rules::Rule;
use super::store::flatten::{UnflattenError, unflatten};
use super::tree::{Branch, Entry, Key, Value};
use bumpwright_gostd::{RFC_3339, Time, quote};
use bumpwright_text::Parts;
use zeroize::Zeroizing;

/// The key of the metadata.
const NAME: &[u8] = b"sops";
/// The prefix of flat metadata.
const PREFIX: &[u8] = b"sops_";
/// The suffix of names whose leaves are plain, unless a file has another rule.
const UNENCRYPTED_SUFFIX: &[u8] = b"_unencrypted";

/// The layout of metadata in a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As a tree below `sops`: YAML, JSON, binary.
    Tree,
    /// Flat names in the section `sops`, line breaks as `\n`: INI.
    Section,
    /// Flat names that begin with `sops_`: dotenv.
    Flat,
}

/// Why the metadata cannot be read, in SOPS' words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MetadataError {
    #[error("sops metadata not found")]
    Missing,
    #[error("Found duplicate sops entry")]
    Duplicate,
    #[error("Found sops entry that is not a mapping")]
    NoMapping,
    #[error("Unexpected key type {0}")]
    KeyType(&'static str),
    #[error(transparent)]
    Flat(#[from] UnflattenError),
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Time(#[from] bumpwright_gostd::TimeError),
    #[error("No keys found in file")]
    NoKeys,
    #[error(
        "Cannot use more than one of encrypted_suffix, unencrypted_suffix, encrypted_regex, unencrypted_regex, \
         encrypted_comment_regex, or unencrypted_comment_regex in the same file"
    )]
    Rules,
    #[error("{0}")]
    HuaweiKey(String),
}

/// Master keys that each encrypt the same part of the data key.
pub(crate) type KeyGroup = Vec<MasterKey>;

/// The metadata of a file.
pub(crate) struct Metadata {
    pub(crate) groups: Vec<KeyGroup>,
    /// The number of groups needed; 0 if not given.
    pub(crate) threshold: i64,
    pub(crate) rule: Rule,
    pub(crate) only_encrypted: bool,
    /// The encrypted MAC; empty if absent.
    pub(crate) mac: Zeroizing<Vec<u8>>,
    /// RFC 3339; part of the MAC.
    pub(crate) last_modified: Vec<u8>,
}

/// Removes the metadata from the documents of a file.
pub(crate) fn extract(branches: &mut [Branch], layout: Layout) -> Result<Metadata, MetadataError> {
    let mut tree = match layout {
        Layout::Flat => flat(branches)?,
        Layout::Tree | Layout::Section => below(branches)?,
    };
    if layout == Layout::Section {
        unescape(&mut tree);
    }
    if layout != Layout::Tree {
        tree = unflatten(tree)?;
    }
    check_keys(&tree)?;
    read(&tree)
}

fn below(branches: &mut [Branch]) -> Result<Branch, MetadataError> {
    let mut metadata = None;
    for (document, branch) in branches.iter_mut().enumerate() {
        for entry in branch.extract_if(.., |entry| entry.is(NAME)) {
            if document > 0 {
                continue;
            }
            match (metadata.is_some(), entry.value) {
                (true, _) => return Err(MetadataError::Duplicate),
                (false, Value::Branch(tree)) => metadata = Some(tree),
                (false, _) => return Err(MetadataError::NoMapping),
            }
        }
    }
    metadata.ok_or(MetadataError::Missing)
}

fn flat(branches: &mut [Branch]) -> Result<Branch, MetadataError> {
    let branch = branches.first_mut().ok_or(MetadataError::Missing)?;
    let is_metadata = |entry: &mut Entry| matches!(&entry.key, Key::Name(name) if name.starts_with(PREFIX));
    let tree = branch.extract_if(.., is_metadata).map(|entry| match entry.key {
        Key::Name(name) => Entry::new(name.part(PREFIX.len()..), entry.value),
        key => Entry {
            key,
            value: entry.value,
        },
    });
    Some(tree.collect::<Branch>())
        .filter(|tree| !tree.is_empty())
        .ok_or(MetadataError::Missing)
}

/// INI's metadata has `\n` for line breaks.
fn unescape(tree: &mut Branch) {
    for entry in tree {
        if let Value::Text(text) = &mut entry.value {
            *text = unescaped(text);
        }
    }
}

/// `\n` becomes a line break.
pub(crate) fn unescaped(text: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(br"\n") {
            out.push(b'\n');
            rest = behind;
        } else {
            out.push(first);
            rest = behind;
        }
    }
    out
}

/// Rejects keys that are not strings, at any depth.
fn check_keys(tree: &Branch) -> Result<(), MetadataError> {
    tree.iter().try_for_each(|entry| {
        if let Key::Other(other) = &entry.key {
            return Err(MetadataError::KeyType(other.go_type()));
        }
        check_value(&entry.value)
    })
}

fn check_value(value: &Value) -> Result<(), MetadataError> {
    match value {
        Value::Branch(branch) => check_keys(branch),
        Value::List(items) => items.iter().try_for_each(check_value),
        _ => Ok(()),
    }
}

fn read(tree: &Branch) -> Result<Metadata, MetadataError> {
    type Make = fn(Vec<u8>) -> Rule;
    let fields = Fields::new(tree);
    let rules: [(&str, Make); 6] = [
        ("unencrypted_suffix", Rule::UnencryptedSuffix),
        ("encrypted_suffix", Rule::EncryptedSuffix),
        ("unencrypted_regex", Rule::UnencryptedRegex),
        ("encrypted_regex", Rule::EncryptedRegex),
        ("unencrypted_comment_regex", Rule::UnencryptedCommentRegex),
        ("encrypted_comment_regex", Rule::EncryptedCommentRegex),
    ];
    let mut creation_rules = Vec::new();
    for (name, rule) in rules {
        let text = fields.text(name)?;
        if !text.is_empty() {
            creation_rules.push(rule(text.into_bytes()));
        }
    }
    let threshold = fields.integer("shamir_threshold")?;
    let only_encrypted = fields.boolean("mac_only_encrypted")?;
    let mac = Zeroizing::new(fields.text("mac")?.into_bytes());
    let last_modified = fields.text("lastmodified")?;
    let keys = Keys::read(&fields)?;
    let groups = fields.list("key_groups")?;
    let groups = groups.iter().map(Keys::read).collect::<Result<Vec<_>, _>>()?;
    let last_modified = Time::parse(RFC_3339, last_modified.as_bytes())?;
    let groups = key_groups(keys, groups)?;
    let mut creation_rules = creation_rules.into_iter();
    let rule = creation_rules.next();
    if creation_rules.next().is_some() {
        return Err(MetadataError::Rules);
    }
    Ok(Metadata {
        groups,
        threshold,
        rule: rule.unwrap_or_else(|| Rule::UnencryptedSuffix(UNENCRYPTED_SUFFIX.to_vec())),
        only_encrypted,
        mac,
        last_modified: last_modified.format(RFC_3339),
    })
}

/// Keys at the top of the metadata form one group; `key_groups` counts only without them.
fn key_groups(keys: Keys, groups: Vec<Keys>) -> Result<Vec<KeyGroup>, MetadataError> {
    if !keys.0.is_empty() {
        Ok(vec![keys.checked()?])
    } else if groups.is_empty() {
        Err(MetadataError::NoKeys)
    } else {
        groups.into_iter().map(Keys::checked).collect()
    }
}

/// Keys with unchecked times.
struct Keys(Vec<MasterKey>);

impl Keys {
    /// All keys of a group, in SOPS' order of kinds.
    fn read(fields: &Fields<'_>) -> Result<Self, FieldError> {
        let mut keys = Vec::new();
        for key in fields.list("kms")? {
            keys.push(MasterKey::AwsKms {
                arn: key.text("arn")?,
                role: key.text("role")?,
                context: key.pairs("context")?,
                profile: key.text("aws_profile")?,
                enc: key.text("enc")?,
                created_at: key.text("created_at")?,
            });
        }
        for key in fields.list("gcp_kms")? {
            keys.push(MasterKey::GcpKms {
                resource_id: key.text("resource_id")?,
                enc: key.text("enc")?,
                created_at: key.text("created_at")?,
            });
        }
        for key in fields.list("hckms")? {
            keys.push(MasterKey::HuaweiKms {
                key_id: key.text("key_id")?,
                enc: key.text("enc")?,
                created_at: key.text("created_at")?,
            });
        }
        for key in fields.list("azure_kv")? {
            keys.push(MasterKey::AzureKv {
                vault_url: key.text("vault_url")?,
                name: key.text("name")?,
                version: key.text("version")?,
                enc: key.text("enc")?,
                created_at: key.text("created_at")?,
            });
        }
        for key in fields.list("hc_vault")? {
            keys.push(MasterKey::Vault {
                address: key.text("vault_address")?,
                engine_path: key.text("engine_path")?,
                key_name: key.text("key_name")?,
                enc: key.text("enc")?,
                created_at: key.text("created_at")?,
            });
        }
        for key in fields.list("pgp")? {
            keys.push(MasterKey::Pgp {
                fp: key.text("fp")?,
                enc: key.text("enc")?,
                created_at: key.text("created_at")?,
            });
        }
        for key in fields.list("age")? {
            keys.push(MasterKey::Age {
                recipient: key.text("recipient")?,
                enc: key.text("enc")?,
            });
        }
        Ok(Self(keys))
    }

    /// The keys, after a check of their times.
    fn checked(self) -> Result<KeyGroup, MetadataError> {
        for key in &self.0 {
            let created_at = match key {
                MasterKey::Age { .. } => continue,
                MasterKey::Pgp { created_at, .. }
                | MasterKey::AwsKms { created_at, .. }
                | MasterKey::GcpKms { created_at, .. }
                | MasterKey::AzureKv { created_at, .. }
                | MasterKey::Vault { created_at, .. }
                | MasterKey::HuaweiKms { created_at, .. } => created_at,
            };
            Time::parse(RFC_3339, created_at.as_bytes())?;
            if let MasterKey::HuaweiKms { key_id, .. } = key {
                huawei_key(key_id)?;
            }
        }
        Ok(self.0)
    }
}

/// `REGION:ID`, neither of them empty.
fn huawei_key(id: &str) -> Result<(), MetadataError> {
    let problem = match id.trim().split_once(':') {
        None => format!(
            "invalid key ID format: expected 'region:key-uuid', got {}",
            quote(id.trim())
        ),
        Some((region, _)) if region.trim().is_empty() => {
            format!("region cannot be empty in key ID: {}", quote(id.trim()))
        }
        Some((_, key)) if key.trim().is_empty() => format!("key UUID cannot be empty in key ID: {}", quote(id.trim())),
        Some(_) => return Ok(()),
    };
    Err(MetadataError::HuaweiKey(problem))
}
