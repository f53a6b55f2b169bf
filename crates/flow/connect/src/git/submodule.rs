//! The remote of a submodule.

use bumpwright_git::{Auth, Remote, RemoteUrl, Scheme};

/// The remote of a submodule. Credentials for HTTP are for the server of the repository alone; an SSH key is not
/// revealed to the server, and is used for known hosts only. A user's own credentials are asked for by server.
///
/// # Errors
/// The address is not that of a server.
pub fn of_submodule(parent: &Remote, address: &str) -> Result<Remote, String> {
    let url = RemoteUrl::parse(address).map_err(|error| error.to_string())?;
    let origin = |url: &RemoteUrl| url.web().map(|web| web.origin());
    let auth = match url.scheme() {
        Scheme::Http | Scheme::Https | Scheme::Ssh if matches!(parent.auth, Auth::User) => Auth::User,
        Scheme::Ssh if matches!(parent.auth, Auth::SshKey { .. }) => parent.auth.clone(),
        Scheme::Http | Scheme::Https if origin(&url) == origin(&parent.url) => parent.auth.clone(),
        Scheme::Http | Scheme::Https | Scheme::Ssh => Auth::None,
        _ => return Err("submodules must be at http://, https:// or ssh:// addresses".to_owned()),
    };
    Ok(Remote {
        url,
        auth,
        ..parent.clone()
    })
}
