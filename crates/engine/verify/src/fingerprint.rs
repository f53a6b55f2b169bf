//! Fingerprints of the keys that a source trusts (source-controller v1.10, `verificationFingerprint`): what was
//! verified is verified again when they change. Names of Secrets and of their entries do not count.

use sha2::{Digest as _, Sha256};

use super::cosign;
use super::git::SSH_SUFFIX;
use super::notation::{TRUST_POLICY, is_certificate};
use super::sigstore::to_hex;

/// Of the keys for commits and tags, by the entries of a Secret.
#[must_use]
pub fn git_fingerprint(entries: &[(&str, &[u8])]) -> String {
    let is_ssh = |name: &str| name.ends_with(SSH_SUFFIX);
    let mut material = Material::default();
    material.add("pgp:", entries, |name| !is_ssh(name));
    material.add("ssh:", entries, is_ssh);
    material.digest()
}

/// Of what a verification of images trusts: the entries of `secretRef`, and the root of `trustedRootSecretRef`.
#[must_use]
pub fn image_fingerprint(provider: &str, entries: Option<&[(&str, &[u8])]>, trusted_root: Option<&[u8]>) -> String {
    let mut material = Material::default();
    material.put("provider:", provider.as_bytes());
    if let Some(root) = trusted_root.filter(|root| !root.is_empty()) {
        material.put("trustedroot:", root);
    }
    let entries = entries.unwrap_or_default();
    match provider {
        "notation" => {
            material.add("trustpolicy:", entries, |name| name == TRUST_POLICY);
            material.add("cert:", entries, is_certificate);
        }
        _ => material.add("pub:", entries, |name| name.ends_with(cosign::SUFFIX)),
    }
    material.digest()
}

/// The text that is hashed: each part ends with a zero byte.
#[derive(Default)]
struct Material(Sha256);

impl Material {
    fn put(&mut self, label: &str, content: &[u8]) {
        self.0.update(label);
        self.0.update(content);
        self.0.update([0]);
    }

    /// The content of the entries with such names, in the order of the content.
    fn add(&mut self, label: &str, entries: &[(&str, &[u8])], is_meant: impl Fn(&str) -> bool) {
        let meant = entries.iter().filter(|(name, _)| is_meant(name));
        let mut contents: Vec<&[u8]> = meant.map(|(_, content)| *content).collect();
        contents.sort_unstable();
        contents.into_iter().for_each(|content| self.put(label, content));
    }

    fn digest(self) -> String {
        format!("sha256:{}", to_hex(&self.0.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Entry = (&'static str, &'static [u8]);
    const KEY: Entry = ("a.asc", b"one");
    const OTHER: Entry = ("b.asc", b"two");
    const SSH: Entry = ("c.sshpub", b"one");

    /// Of the same text as Flux's.
    #[test]
    fn a_fingerprint_is_that_of_flux() {
        let digest = |text: &str| format!("sha256:{}", hex(text));
        assert_eq!(
            git_fingerprint(&[SSH, OTHER, KEY]),
            digest("pgp:one\0pgp:two\0ssh:one\0")
        );
        assert_eq!(git_fingerprint(&[KEY]), digest("pgp:one\0"));
        let cosign: &[Entry] = &[("cosign.pub", b"k"), ("password", b"p")];
        assert_eq!(
            image_fingerprint("cosign", Some(cosign), Some(b"r")),
            digest("provider:cosign\0trustedroot:r\0pub:k\0")
        );
        let notation: &[Entry] = &[
            ("ca.crt", b"2"),
            ("b.pem", b"1"),
            ("trustpolicy.json", b"{}"),
            ("x.pub", b"k"),
        ];
        let text = "provider:notation\0trustpolicy:{}\0cert:1\0cert:2\0";
        assert_eq!(image_fingerprint("notation", Some(notation), None), digest(text));
        assert_eq!(image_fingerprint("cosign", None, None), digest("provider:cosign\0"));
    }

    #[test]
    fn names_do_not_count_and_keys_do() {
        assert_eq!(
            git_fingerprint(&[KEY, OTHER]),
            git_fingerprint(&[("z.asc", b"one"), ("y.asc", b"two")])
        );
        assert_ne!(git_fingerprint(&[KEY, OTHER]), git_fingerprint(&[KEY]));
        assert_ne!(git_fingerprint(&[KEY]), git_fingerprint(&[OTHER]));
    }

    fn hex(text: &str) -> String {
        let mut material = Material::default();
        material.0.update(text);
        material.digest().split_off("sha256:".len())
    }
}
