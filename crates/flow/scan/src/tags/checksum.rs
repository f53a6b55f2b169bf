//! Flux's checksum of a list of tags (image-reflector-controller, `status.lastScanResult.revision`).

/// Adler-32 over the list as Go's `encoding/json` writes it, in decimal.
#[must_use]
pub fn checksum<'t>(tags: impl IntoIterator<Item = &'t str>) -> String {
    let mut adler = adler2::Adler32::new();
    adler.write_slice(b"[");
    for (n, tag) in tags.into_iter().enumerate() {
        if n > 0 {
            adler.write_slice(b",");
        }
        // Tags have no character that JSON escapes: `[\w][\w.-]{0,127}` (distribution, *reference grammar*).
        adler.write_slice(b"\"");
        adler.write_slice(tag.as_bytes());
        adler.write_slice(b"\"");
    }
    adler.write_slice(b"]");
    adler.checksum().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Go: `fmt.Sprintf("%v", adler32.Checksum(json.Marshal(tags)))`.
    #[test]
    fn it_is_gos() {
        let of = |tags: &[&str]| checksum(tags.iter().copied());
        assert_eq!(of(&[]), "18153657");
        assert_eq!(of(&["1.0.0"]), "160432618");
        assert_eq!(of(&["2.0.0", "1.0.1", "1.0.0"]), "1013974182");
    }
}
