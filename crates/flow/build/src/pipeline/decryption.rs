//! The decryption of a Kustomization (`spec.decryption`) as a step of the build.

use serde_json::Value;
use zeroize::Zeroizing;

use bumpwright_overlay::{Decrypt, PlacedError, SourceFile, SourceFormat, StageError};
use bumpwright_sops::{Format, KeyService, Masks, ObjectError, decrypt_file, decrypt_object};

/// Decrypts with the given keys.
pub struct Decryption {
    keys: Box<dyn KeyService + Send + Sync>,
}

/// Does not print keys.
impl std::fmt::Debug for Decryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decryption")
    }
}

impl Decryption {
    /// A decryption with these keys.
    pub fn new(keys: impl KeyService + Send + Sync + 'static) -> Self {
        Self { keys: Box::new(keys) }
    }
}

impl Decrypt for Decryption {
    fn file(&self, file: &SourceFile<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, StageError> {
        Ok(decrypt_file(file.bytes, format_of(file), &*self.keys)?)
    }

    fn object(&self, object: &Value) -> Result<Option<Value>, StageError> {
        let mut plain = object.clone();
        let is_changed = decrypt_object(&mut plain, &*self.keys).map_err(shown)?;
        Ok(is_changed.then_some(plain))
    }
}

/// Masks encrypted values (`build -k --redact`). With keys it decrypts first, only to report failures.
#[derive(Debug, Default)]
pub struct Redaction {
    /// The keys, if there are any.
    pub decryption: Option<Decryption>,
}

impl Decrypt for Redaction {
    fn file(&self, file: &SourceFile<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, StageError> {
        if let Some(decryption) = &self.decryption {
            decryption.file(file)?;
        }
        Ok(decrypt_file(file.bytes, format_of(file), &Masks)?)
    }

    fn object(&self, object: &Value) -> Result<Option<Value>, StageError> {
        if let Some(decryption) = &self.decryption {
            decryption.object(object)?;
        }
        let mut masked = object.clone();
        let is_changed = decrypt_object(&mut masked, &Masks).map_err(shown)?;
        Ok(is_changed.then_some(masked))
    }
}

/// Ciphertext that is left in an object is an error of ours alone.
fn shown(error: ObjectError) -> StageError {
    if error.is_left() {
        PlacedError(error.to_string()).into()
    } else {
        error.into()
    }
}

const fn format_of(file: &SourceFile<'_>) -> Format {
    match file.format {
        SourceFormat::Binary => Format::Binary,
        SourceFormat::Dotenv => Format::Dotenv,
        SourceFormat::Ini => Format::Ini,
        SourceFormat::Json => Format::Json,
        SourceFormat::Yaml => Format::Yaml,
    }
}
