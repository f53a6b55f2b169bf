//! The remote of a submodule.

use bumpwright_git::{Auth, Remote, RemoteUrl, Scheme, TransportError};

/// The address of a submodule is not that of a server.
#[derive(Debug, thiserror::Error)]
pub enum SubmoduleAddressError {
    #[error(transparent)]
    Url(#[from] TransportError),
    #[error("submodules must be at http://, https:// or ssh:// addresses")]
    Scheme,
}

/// The remote of a submodule. Credentials for HTTP are for the server of the repository alone; an SSH key is not
/// revealed to the server, and is used for known hosts only. A user's own credentials are asked for by server.
pub fn of_submodule(parent: &Remote, address: &str) -> Result<Remote, SubmoduleAddressError> {
    let url = RemoteUrl::parse(address)?;
    let origin = |url: &RemoteUrl| url.web().map(|web| web.origin());
    let auth = match url.scheme() {
        Scheme::Http | Scheme::Https | Scheme::Ssh if matches!(parent.auth, Auth::User) => Auth::User,
        Scheme::Ssh if matches!(parent.auth, Auth::SshKey { .. }) => parent.auth.clone(),
        Scheme::Http | Scheme::Https if origin(&url) == origin(&parent.url) => parent.auth.clone(),
        Scheme::Http | Scheme::Https | Scheme::Ssh => Auth::None,
        _ => return Err(SubmoduleAddressError::Scheme),
    };
    Ok(Remote {
        url,
        auth,
        ..parent.clone()
    })
}
