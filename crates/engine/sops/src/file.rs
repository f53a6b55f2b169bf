//! Decrypts a file: from its bytes to the plain bytes in the requested format.

use super::cipher::{Cipher, CipherError};
use super::decrypt::{Digests, WalkError, decrypt as decrypt_tree};
use super::key::data_key::{DataKeyError, data_key};
use super::key::service::KeyService;
use super::metadata::{Layout, Metadata, MetadataError, extract};
use super::store::dotenv::{ComplexValue, LineError};
use super::store::format::Format;
use super::store::ini_read::IniError;
use super::store::ini_write::IniWriteError;
use super::store::json_read::JsonError;
use super::store::json_write::UnsupportedValue;
use super::store::yaml::{YamlReadError, YamlWriteError};
use super::store::{dotenv, ini_read, ini_write, json_read, json_write, yaml};
use super::tree::{Branch, Value};
use zeroize::Zeroizing;

/// How to treat a file's MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// The MAC must be present and match: the bytes are those that were encrypted (K-134).
    Checked,
    /// Ignore the MAC. Values are still authenticated, each at its place; additions, removals and moves are
    /// not detected. A build adds names, labels and namespaces to objects and sorts their keys, so that no MAC
    /// over the whole matches.
    ValuesOnly,
}

/// Why a file cannot be decrypted, in the words of SOPS and kustomize-controller. Neither plain text nor keys are
/// included, even where those two would include them.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct DecryptError(Box<Reason>);

impl From<Reason> for DecryptError {
    fn from(reason: Reason) -> Self {
        Self(Box::new(reason))
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Reason {
    #[error("failed to load encrypted {0} data: {1}")]
    Load(&'static str, LoadError),
    #[error("cannot get sops data key: {0}")]
    DataKey(DataKeyError),
    #[error("error decrypting sops tree: Error walking tree: {0}")]
    Tree(WalkError),
    #[error("failed to verify sops data integrity: {0}")]
    Mac(MacError),
    #[error("failed to emit encrypted {0} file as decrypted {1}: {2}")]
    Emit(&'static str, &'static str, EmitError),
}

/// kustomize-controller would print both MACs; they are digests of the plain text, and guesses can be tested with them.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MacError {
    #[error("MAC mismatch")]
    Mismatch,
    #[error("no MAC")]
    Missing,
    #[error(transparent)]
    Cipher(CipherError),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("Could not unmarshal input data: {0}")]
    Json(JsonError),
    #[error("Could not unmarshal input data: {0}")]
    Ini(IniError),
    #[error(transparent)]
    Dotenv(LineError),
    #[error(transparent)]
    Yaml(YamlReadError),
    #[error(transparent)]
    Metadata(MetadataError),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EmitError {
    #[error("error emitting binary store: {0}")]
    Binary(&'static str),
    #[error("Error marshaling to json: {0}")]
    Json(UnsupportedValue),
    #[error(transparent)]
    Dotenv(ComplexValue),
    #[error("Error marshaling to INI: {0}")]
    Ini(IniWriteError),
    #[error("Error marshaling to YAML: {0}")]
    Yaml(YamlWriteError),
    /// Go's panic on a file without documents.
    #[error("runtime error: index out of range [0] with length 0")]
    NoDocument,
}

/// Decrypts a file from one format to another (mostly the same).
///
/// # Errors
/// For bytes that are not an encrypted file, keys that do not match, and files that were changed.
pub fn decrypt(
    bytes: &[u8],
    from: Format,
    to: Format,
    service: &dyn KeyService,
    integrity: Integrity,
) -> Result<Zeroizing<Vec<u8>>, DecryptError> {
    let (mut branches, metadata) = load(bytes, from).map_err(|error| Reason::Load(from.title(), error))?;
    open(&mut branches, &metadata, service, integrity)?;
    // Plain text is mostly shorter than the encrypted one: then it is never moved in memory.
    let mut out = Zeroizing::new(Vec::with_capacity(bytes.len()));
    emit(&branches, to, &mut out).map_err(|error| Reason::Emit(from.title(), to.title(), error))?;
    Ok(out)
}

fn load(bytes: &[u8], format: Format) -> Result<(Vec<Branch>, Metadata), LoadError> {
    let (mut branches, layout) = match format {
        Format::Json | Format::Binary => (vec![json_read::read(bytes).map_err(LoadError::Json)?], Layout::Tree),
        Format::Dotenv => (vec![dotenv::read(bytes).map_err(LoadError::Dotenv)?], Layout::Flat),
        Format::Ini => (vec![ini_read::read(bytes).map_err(LoadError::Ini)?], Layout::Section),
        Format::Yaml => (yaml::read(bytes).map_err(LoadError::Yaml)?, Layout::Tree),
    };
    let mut metadata = extract(&mut branches, layout).map_err(LoadError::Metadata)?;
    if format == Format::Json {
        metadata.rule = metadata.rule.without_comments();
    }
    Ok((branches, metadata))
}

/// Decrypts a tree in place.
pub(crate) fn open(
    branches: &mut [Branch],
    metadata: &Metadata,
    service: &dyn KeyService,
    integrity: Integrity,
) -> Result<(), Reason> {
    if service.masks() {
        let masked = decrypt_tree(
            branches,
            &Cipher::masking(),
            metadata.rule.clone(),
            metadata.only_encrypted,
        );
        return masked.map(|_| ()).map_err(Reason::Tree);
    }
    let key = data_key(metadata, service).map_err(Reason::DataKey)?;
    let cipher = Cipher::new(&key).map_err(|error| Reason::Tree(WalkError::Value(error)))?;
    let rule = metadata.rule.clone();
    let computed = decrypt_tree(branches, &cipher, rule, metadata.only_encrypted).map_err(Reason::Tree)?;
    match integrity {
        Integrity::ValuesOnly => Ok(()),
        Integrity::Checked => check(&cipher, metadata, &computed).map_err(Reason::Mac),
    }
}

fn check(cipher: &Cipher, metadata: &Metadata, computed: &Digests) -> Result<(), MacError> {
    let stored = cipher.decrypt(&metadata.mac, &metadata.last_modified);
    match stored.map_err(MacError::Cipher)? {
        Value::Text(stored) if stored.is_empty() => Err(MacError::Missing),
        Value::Text(stored) if *stored == computed.decrypted.as_bytes() => Ok(()),
        Value::Text(stored) if computed.encrypted.as_ref().is_some_and(|mac| *stored == mac.as_bytes()) => Ok(()),
        _ => Err(MacError::Mismatch),
    }
}

fn emit(branches: &[Branch], format: Format, out: &mut Zeroizing<Vec<u8>>) -> Result<(), EmitError> {
    let first = branches.first().ok_or(EmitError::NoDocument);
    match format {
        Format::Binary => emit_binary(branches, out),
        Format::Json => json_write::write(first?, out).map_err(EmitError::Json),
        Format::Dotenv => dotenv::write(first?, out).map_err(EmitError::Dotenv),
        Format::Ini => ini_write::write(branches, out).map_err(EmitError::Ini),
        Format::Yaml => yaml::write(branches, out).map_err(EmitError::Yaml),
    }
}

/// The only text, under `data`.
fn emit_binary(branches: &[Branch], out: &mut Zeroizing<Vec<u8>>) -> Result<(), EmitError> {
    let [branch] = branches else {
        return Err(EmitError::Binary("there must be exactly one tree branch"));
    };
    match branch.iter().find(|entry| entry.is(b"data")).map(|entry| &entry.value) {
        Some(Value::Text(text)) => out.extend_from_slice(text),
        Some(_) => return Err(EmitError::Binary("'data' key in tree does not have a string value")),
        None => return Err(EmitError::Binary("no binary data found in tree")),
    }
    Ok(())
}
