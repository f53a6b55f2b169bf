//! Settings of Vault and OpenBao in the environment (Vault, *Vault CLI usage: environment variables*; `vault/api`,
//! `Config.ReadEnvironment`; SOPS, `hcvault/keysource.go`).

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::error::{AllowError, SettingsError, TokenError};
use bumpwright_cloud::Cloud;
use bumpwright_gostd::Duration as GoDuration;
use bumpwright_http::{Client, Peer, Proxy, RetryPolicy, Tls};
use bumpwright_secret::Secret;

/// The default of `VAULT_CLIENT_TIMEOUT`.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The default of `VAULT_MAX_RETRIES`.
const RETRIES: u32 = 2;
/// The first pause before a retry.
const PAUSE: Duration = Duration::from_secs(1);
/// The file of `vault login` in the user's home folder.
pub(super) const TOKEN_FILE: &str = ".vault-token";
pub(super) const ALLOWLIST: &str = "SOPS_HC_VAULT_ALLOWLIST";
/// Unsupported variables, which must not be ignored silently.
const UNSUPPORTED: [&str; 3] = ["VAULT_HEADERS", "VAULT_SRV_LOOKUP", "VAULT_TLS_SERVER_NAME"];

/// The connection settings of servers.
#[derive(Debug)]
pub(crate) struct VaultSettings {
    pub(crate) client: Client,
    /// `VAULT_AGENT_ADDR`: the agent for requests, in place of the server in a file.
    pub(crate) agent: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) redirects: bool,
    /// The number of retries.
    pub(crate) retries: u32,
}

impl VaultSettings {
    /// # Errors
    /// A text, when a variable or its file is not usable.
    pub(crate) fn read(cloud: &Cloud) -> Result<Self, SettingsError> {
        let get = |name| cloud.variable(name);
        if let Some(name) = UNSUPPORTED
            .into_iter()
            .find(|name| get(name).is_some_and(|value| value != "false"))
        {
            return Err(SettingsError::Unsupported(name));
        }
        let own = cloud.client().peer();
        let retries = match get("VAULT_MAX_RETRIES") {
            Some(text) => text.parse().map_err(|_| SettingsError::Retries)?,
            None => RETRIES,
        };
        let proxy = get("VAULT_PROXY_ADDR").or_else(|| get("VAULT_HTTP_PROXY"));
        let peer = Peer {
            tls: tls(cloud)?,
            proxy: proxy.map_or_else(|| own.proxy.clone(), |address| Some(Proxy::at(address))),
            timeout: get("VAULT_CLIENT_TIMEOUT").map_or(Ok(TIMEOUT), timeout)?,
            ..own.clone()
        };
        let retry_policy = RetryPolicy {
            tries: retries.saturating_add(1),
            first: PAUSE,
            ..RetryPolicy::default()
        };
        Ok(Self {
            client: Client::new(peer, retry_policy),
            agent: get("VAULT_AGENT_ADDR").map(str::to_owned),
            namespace: get("VAULT_NAMESPACE").map(str::to_owned),
            redirects: !get("VAULT_DISABLE_REDIRECTS")
                .map_or(Ok(false), |text| truth("VAULT_DISABLE_REDIRECTS", text))?,
            retries,
        })
    }
}

fn tls(cloud: &Cloud) -> Result<Tls, SettingsError> {
    let get = |name| cloud.variable(name);
    let mut tls = cloud.client().peer().tls.clone();
    if let Some(path) = get("VAULT_CACERT") {
        tls.ca = Some(file("VAULT_CACERT", path)?);
    } else if let Some(pem) = get("VAULT_CACERT_BYTES") {
        tls.ca = Some(pem.as_bytes().to_vec());
    } else if let Some(path) = get("VAULT_CAPATH") {
        tls.ca = Some(folder("VAULT_CAPATH", path)?);
    }
    match (get("VAULT_CLIENT_CERT"), get("VAULT_CLIENT_KEY")) {
        (Some(chain), Some(key)) => {
            let key = String::from_utf8(file("VAULT_CLIENT_KEY", key)?);
            let key = key.map_err(|_| SettingsError::ClientKey)?;
            tls.client = Some((file("VAULT_CLIENT_CERT", chain)?, Secret::new(key)));
        }
        (None, None) => {}
        _ => return Err(SettingsError::HalfClient),
    }
    if let Some(text) = get("VAULT_SKIP_VERIFY") {
        tls.unverified = truth("VAULT_SKIP_VERIFY", text)?;
    }
    Ok(tls)
}

/// Go's `strconv.ParseBool`.
fn truth(name: &'static str, text: &str) -> Result<bool, SettingsError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(SettingsError::Truth(name)),
    }
}

/// Parses seconds, or a duration of Go. Zero counts as the default.
fn timeout(text: &str) -> Result<Duration, SettingsError> {
    let wrong = || SettingsError::Timeout;
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let read = GoDuration::parse(text.as_bytes()).map_err(|_| wrong())?;
            Duration::try_from_secs_f64(read.in_units(1_000_000_000)).map_err(|_| wrong())?
        }
    };
    Ok(if seconds.is_zero() { TIMEOUT } else { seconds })
}

/// The error of what a variable names.
fn unread(variable: &'static str, path: &str) -> impl FnOnce(io::Error) -> SettingsError {
    let path = path.to_owned();
    move |error| SettingsError::File { variable, path, error }
}

fn file(variable: &'static str, path: &str) -> Result<Vec<u8>, SettingsError> {
    fs::read(path).map_err(unread(variable, path))
}

/// Concatenates all files of a folder.
fn folder(variable: &'static str, path: &str) -> Result<Vec<u8>, SettingsError> {
    let entries = fs::read_dir(path).map_err(unread(variable, path))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut certificates = Vec::new();
    for path in paths.iter().filter(|path| path.is_file()) {
        certificates.extend(file(variable, &path.display().to_string())?);
        certificates.push(b'\n');
    }
    Ok(certificates)
}

/// The token of this process: `VAULT_TOKEN`, else the one of `vault login`; none if absent.
///
/// # Errors
/// In SOPS' words, when the file exists and cannot be read.
pub(crate) fn own_token(cloud: &Cloud) -> Result<Option<Secret>, TokenError> {
    if let Some(token) = cloud.variable("VAULT_TOKEN") {
        return Ok(Some(Secret::new(token)));
    }
    let Some(home) = cloud.variable("HOME") else {
        return Ok(None);
    };
    match fs::read_to_string(Path::new(home).join(TOKEN_FILE)) {
        Ok(text) => Ok(Some(Secret::new(text.trim())).filter(|token| !token.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TokenError::File {
            home: home.to_owned(),
            error,
        }),
    }
}

/// The token of this process for a server in a tenant's file: with isolated tenants a list of
/// allowed servers is required.
///
/// # Errors
/// A text, without a list of servers; as [`own_token`].
pub(crate) fn own_token_of_list(cloud: &Cloud) -> Result<Option<Secret>, TokenError> {
    let token = own_token(cloud)?;
    match (&token, cloud.variable(ALLOWLIST)) {
        (Some(_), None) => Err(TokenError::NoList),
        _ => Ok(token),
    }
}

/// Checks whether tokens may be sent to a server: by default to any, as in SOPS.
///
/// # Errors
/// In SOPS' words, when they may not, or the list cannot be read.
pub(crate) fn allowed(cloud: &Cloud, server: &str) -> Result<(), AllowError> {
    let list = match cloud.variable(ALLOWLIST) {
        None | Some("all") => return Ok(()),
        Some("none") => Vec::new(),
        Some(list) => list.split(',').map(|entry| entry.trim_matches(' ')).collect(),
    };
    if let Some(at) = list.iter().position(|entry| entry.is_empty()) {
        return Err(AllowError::EmptyEntry(at + 1));
    }
    let closed = |text: &str| format!("{}/", text.strip_suffix('/').unwrap_or(text));
    if list.iter().any(|entry| closed(server).starts_with(&closed(entry))) {
        Ok(())
    } else {
        Err(AllowError::Server(server.to_owned()))
    }
}
