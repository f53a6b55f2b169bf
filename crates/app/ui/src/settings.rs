//! Settings of the browser's view.

use bumpwright_runtime::ListenAddress;

use super::auth::Auth;

/// Texts of `bumpwright explain`: what to do about a reason.
pub type Advice = fn(&str) -> Option<String>;

/// Settings of the browser's view.
#[derive(Clone, Debug)]
pub struct UiSettings {
    pub address: ListenAddress,
    /// How it is known who looks.
    pub auth: Auth,
    /// Whether people may change something, with their own rights.
    pub actions: bool,
    /// The name of the cluster, for the head of pages; may be empty.
    pub cluster: String,
    /// What to do about a reason.
    pub advice: Advice,
}

impl UiSettings {
    /// Whether only this machine can connect.
    #[must_use]
    pub fn is_local(&self) -> bool {
        is_local(&self.address)
    }
}

/// Whether only this machine can connect to an address.
pub(crate) fn is_local(address: &ListenAddress) -> bool {
    match address {
        ListenAddress::Off => true,
        ListenAddress::At { host, .. } => {
            let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
            host == "localhost" || host.parse().is_ok_and(is_loopback)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_others_reach_are_not_local() {
        for (address, expected) in [
            ("127.0.0.1:9393", true),
            ("localhost:9393", true),
            ("[::1]:9393", true),
            (":9393", false),
            ("0.0.0.0:9393", false),
            ("10.0.0.1:9393", false),
            ("localhost.evil:9393", false),
        ] {
            assert_eq!(is_local(&address.parse().unwrap()), expected, "{address}");
        }
    }
}
