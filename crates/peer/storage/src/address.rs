//! The host in the URLs of artifacts (`GetAdvertisedAddress` of `github.com/fluxcd/pkg/artifact/config`).

use thiserror::Error;

/// The listen address has no usable host and port.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "cannot derive the host of artifacts from the storage address {address:?}: {detail}; write HOST:PORT \
     or :PORT, or give the host with --storage-adv-addr"
)]
pub struct AddressError {
    address: String,
    detail: &'static str,
}

/// The host, and port, in the URLs of artifacts: `advertised` (`--storage-adv-addr`) unchanged, which may begin with
/// `http://` or `https://`; else that of `listen` (`--storage-addr`), with `localhost` for `:PORT`, and with `hostname`
/// for `0.0.0.0:PORT`. Pass [`host_name`] for it.
///
/// Flux's manifests advertise `source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local.`; `RUNTIME_NAMESPACE` is
/// not read here.
///
/// # Errors
/// [`AddressError`] when nothing is advertised and `listen` has no port, or a needed `hostname` is missing.
pub fn advertised_host(
    listen: &str,
    advertised: &str,
    hostname: impl FnOnce() -> Option<String>,
) -> Result<String, AddressError> {
    if !advertised.is_empty() {
        return Ok(advertised.to_owned());
    }
    let refused = |detail| AddressError {
        address: listen.to_owned(),
        detail,
    };
    let (host, port) = split_host_port(listen).map_err(refused)?;
    let host = match host {
        "" => "localhost".to_owned(),
        "0.0.0.0" => hostname().ok_or_else(|| refused("the name of this host is unknown"))?,
        host => host.to_owned(),
    };
    Ok(if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    })
}

/// The name of this host: `HOSTNAME`, in a Pod its name, or the system's.
#[must_use]
pub fn host_name() -> Option<String> {
    let from_environment = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    from_environment.or_else(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        Some(name.trim_end().to_owned()).filter(|name| !name.is_empty())
    })
}

/// The URL of a path at an advertised host.
pub(crate) fn url(host: &str, path: &str) -> String {
    let scheme = if host.starts_with("http://") || host.starts_with("https://") {
        ""
    } else {
        "http://"
    };
    format!("{scheme}{host}/{}", path.trim_start_matches('/'))
}

/// Go's `net.SplitHostPort`.
pub(crate) fn split_host_port(address: &str) -> Result<(&str, &str), &'static str> {
    const NO_PORT: &str = "there is no port";
    const COLONS: &str = "an IPv6 address has to be in brackets";
    const BRACKETS: &str = "a bracket is misplaced";
    let (before, port) = address.rsplit_once(':').ok_or(NO_PORT)?;
    let host = match before.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) => host,
            Some((_, after)) if after.starts_with(':') => return Err(COLONS),
            Some(_) => return Err(NO_PORT),
            // The last colon is inside the brackets, or they are not closed.
            None if port.contains(']') => return Err(NO_PORT),
            None => return Err(BRACKETS),
        },
        None if before.contains(':') => return Err(COLONS),
        None => before,
    };
    if [host, port].iter().any(|part| part.contains(['[', ']'])) {
        Err(BRACKETS)
    } else {
        Ok((host, port))
    }
}
