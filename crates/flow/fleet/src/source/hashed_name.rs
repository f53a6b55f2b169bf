//! Names of generated ConfigMaps and Secrets: they end in a hash of the content.

/// Length of the hash.
const HASH: usize = 10;

/// Its letters (kustomize, `api/hasher`: hexadecimal without vowels and what looks like them).
const HASH_LETTERS: &str = "2456789bcdfghkmt";

/// A generated name without its hash.
pub(crate) fn without_hash(name: &str) -> Option<&str> {
    let (plain, hash) = name.rsplit_once('-')?;
    (hash.len() == HASH && hash.chars().all(|c| HASH_LETTERS.contains(c))).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_end_in_a_hash() {
        assert_eq!(without_hash("app-config-92h2k7m4bt"), Some("app-config"));
        for name in ["app", "app-config", "app-config-92h2k7m4b", "app-config-92h2k7m4ba"] {
            assert_eq!(without_hash(name), None, "{name}");
        }
    }
}
