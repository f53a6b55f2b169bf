//! The decryption of a Kustomization (`spec.decryption`), as the build asks for it.

use serde_json::Value;

use crate::overlay::{Decrypt, SourceFile, SourceFormat, StageError};
use crate::sops::{Format, KeyService, decrypt_file, decrypt_object};

/// Decrypts with whatever keys there are.
pub struct Decryption {
    keys: Box<dyn KeyService + Send + Sync>,
}

/// Keys are not shown.
impl std::fmt::Debug for Decryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decryption")
    }
}

impl Decryption {
    /// That with these keys.
    pub fn new(keys: impl KeyService + Send + Sync + 'static) -> Self {
        Self { keys: Box::new(keys) }
    }
}

impl Decrypt for Decryption {
    fn file(&self, file: &SourceFile<'_>) -> Result<Option<Vec<u8>>, StageError> {
        let format = match file.format {
            SourceFormat::Binary => Format::Binary,
            SourceFormat::Dotenv => Format::Dotenv,
            SourceFormat::Ini => Format::Ini,
            SourceFormat::Json => Format::Json,
            SourceFormat::Yaml => Format::Yaml,
        };
        let plain = decrypt_file(file.bytes, format, &*self.keys)?;
        Ok(plain.map(|plain| plain.to_vec()))
    }

    fn object(&self, object: &Value) -> Result<Option<Value>, StageError> {
        let mut plain = object.clone();
        let is_changed = decrypt_object(&mut plain, &*self.keys)?;
        Ok(is_changed.then_some(plain))
    }
}
