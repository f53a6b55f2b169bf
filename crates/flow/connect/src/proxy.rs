//! The proxy of a Secret (`proxySecretRef`; N-048, N-049).

use super::error::AccessError;
use bumpwright_api::Secret;
use bumpwright_http::Proxy;

/// Flux's limit on addresses, in bytes.
const LONGEST: usize = 2048;
const SCHEMES: [&str; 3] = ["http", "https", "socks5"];

/// `address`, and `username` with `password` if the proxy wants a login.
///
/// # Errors
/// [`AccessError`] for a missing or invalid address, and values that cannot be decoded.
pub(crate) fn proxy(secret: &Secret) -> Result<Proxy, AccessError> {
    let name = || secret.metadata.object_name();
    let unusable = |detail: String| AccessError::Proxy { secret: name(), detail };
    let address = secret.text("address")?.ok_or_else(|| AccessError::NoKey {
        secret: name(),
        key: "address",
    })?;
    if address.is_empty() {
        return Err(unusable("proxy address is empty".to_owned()));
    }
    if address.len() > LONGEST {
        return Err(unusable(format!(
            "proxy URL exceeds maximum length of {LONGEST} characters"
        )));
    }
    let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
    if !SCHEMES.contains(&scheme) {
        let schemes = SCHEMES.join(", ");
        return Err(unusable(format!(
            "proxy URL must use one of the supported schemes ({schemes}), got '{scheme}'"
        )));
    }
    Ok(Proxy {
        address: address.to_owned(),
        username: secret.text("username")?.map(str::to_owned),
        password: secret.text("password")?.map(bumpwright_secret::Secret::new),
    })
}
