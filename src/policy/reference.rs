//! Which texts name an image: the rules of go-containerregistry's `name.ParseReference` with weak validation, which
//! image-automation-controller asks before it writes anything.

/// Whether the text is `[REGISTRY/]REPOSITORY[:TAG][@sha256:HEX]`.
#[must_use]
pub(super) fn is_reference(text: &str) -> bool {
    is_tagged(text) || is_digested(text)
}

fn is_tagged(text: &str) -> bool {
    // A colon before the last slash belongs to the registry's port.
    match text.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((base, tag)) => is_tag(tag) && is_named(base),
        None => is_named(text),
    }
}

fn is_digested(text: &str) -> bool {
    let Some((base, digest)) = text.split_once('@') else {
        return false;
    };
    let hex = digest.strip_prefix("sha256:").unwrap_or_default();
    let sound = hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    sound && is_tagged(base)
}

fn is_tag(tag: &str) -> bool {
    (1..=128).contains(&tag.len())
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// A repository, behind a registry when its first part looks like a host.
fn is_named(text: &str) -> bool {
    let host = |first: &str| first.contains(['.', ':']) || first == "localhost";
    match text.split_once('/').filter(|(first, _)| host(first)) {
        Some((registry, repository)) => is_registry(registry) && is_repository(repository),
        None => is_repository(text),
    }
}

fn is_repository(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-./".contains(&byte);
    (2..=255).contains(&name.len()) && name.bytes().all(allowed)
}

fn is_registry(name: &str) -> bool {
    let port = name.rsplit_once(':').map_or("", |(_, port)| port);
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]".contains(&byte);
    name.bytes().all(allowed) && (name.ends_with(']') || port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::is_reference;

    #[test]
    fn what_names_an_image() {
        let hex = "6129bb944cada32b4662eafd13fd9904d34c77286bf2ec4523eaedb711757cb0";
        for text in [
            "o/app:1.0.0",
            "app",
            "ghcr.io/acme/app:v1.2.3_x-y",
            "localhost:5000/app:1",
            "[::1]:5000/app:1",
            "Registry.Example.com/app:1",
            &format!("ghcr.io/acme/app:1@sha256:{hex}"),
            &format!("ghcr.io/acme/app@sha256:{hex}"),
        ] {
            assert!(is_reference(text), "{text}");
        }
        for text in [
            "",
            "x:",
            "x:1",
            "ghcr.io/Acme/app:1",
            "ghcr.io/acme app:1",
            "ghcr.io/acme/app:1 0",
            "ghcr.io/acme/app:1+2",
            "host:port/app:1",
            "ghcr.io/acme/app:1@sha256:61",
            &format!("ghcr.io/acme/app:1@sha512:{hex}{hex}"),
            &format!("app:{}", "a".repeat(129)),
        ] {
            assert!(!is_reference(text), "{text}");
        }
    }
}
