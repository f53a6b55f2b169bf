//! Why Vault or OpenBao does not decrypt a data key, in the words of SOPS, Flux and the library of Vault for Go.

use super::settings::{ALLOWLIST, TOKEN_FILE};
use bumpwright_gostd::{CorruptInput, quote};
use bumpwright_http::NetError;
use std::io;
use std::sync::Arc;
use thiserror::Error;

/// The error of a caller who reads ConfigMaps and issues tokens for this crate.
pub type ForeignError = Box<dyn std::error::Error + Send + Sync>;

/// The error of a master key.
#[derive(Debug, Error)]
pub(crate) enum VaultError {
    /// Its names lead to another path of the server, or have a control character.
    #[error(
        "failed to decrypt sops data key from Vault transit backend {}: the file's engine_path or key_name has '..' or a control \
         character in it",
        quote(.0)
    )]
    Path(String),
    #[error(transparent)]
    Allow(#[from] AllowError),
    /// The environment has settings that are not usable.
    #[error("cannot create Vault client: error encountered setting up default configuration: {0}")]
    Settings(Arc<SettingsError>),
    #[error(transparent)]
    Login(#[from] Box<LoginError>),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("failed to decrypt sops data key from Vault transit backend '{path}': {problem}")]
    Decrypt {
        path: String,
        #[source]
        problem: Box<TransitError>,
    },
}

/// No token may be sent to a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum AllowError {
    /// An entry of the list is empty; its number.
    #[error("{ALLOWLIST}'s entry {0} is empty")]
    EmptyEntry(usize),
    /// The list does not have the server.
    #[error("Allowlist does not allow {0}")]
    Server(String),
}

/// The token of this process is not sent.
#[derive(Debug, Error)]
pub(crate) enum TokenError {
    /// The file with it cannot be read.
    #[error("cannot get Vault token: open {home}/{TOKEN_FILE}: {error}")]
    File { home: String, error: io::Error },
    /// With isolated tenants a list of servers is required.
    #[error(
        "the controller's own Vault token is not sent to a server that a file names while tenants are kept apart: have {ALLOWLIST} \
         list the controller's servers (or say all), or give a token in the Secret of spec.decryption.secretRef"
    )]
    NoList,
}

/// A variable is not usable.
#[derive(Debug, Error)]
pub(crate) enum SettingsError {
    #[error("{0} is not supported; unset it")]
    Unsupported(&'static str),
    #[error("VAULT_MAX_RETRIES is not a number")]
    Retries,
    #[error("could not parse {0}")]
    Truth(&'static str),
    #[error("could not parse \"VAULT_CLIENT_TIMEOUT\"")]
    Timeout,
    #[error("VAULT_CLIENT_KEY names a file that is not PEM")]
    ClientKey,
    /// Of certificate and key one is missing.
    #[error("both client cert and client key must be provided")]
    HalfClient,
    /// What it names cannot be read.
    #[error("{variable} names {path}, which cannot be read: {error}")]
    File {
        variable: &'static str,
        path: String,
        error: io::Error,
    },
}

/// A server gave no token.
#[derive(Debug, Error)]
pub(crate) enum LoginError {
    #[error("failed to issue Kubernetes token for Vault authentication: {0}")]
    Issue(#[source] ForeignError),
    #[error("failed to derive Vault role for authentication: {0}")]
    Role(#[from] JwtError),
    #[error("no Vault login path configured for address '{server}' in ConfigMap '{name}'")]
    NoPath { server: String, name: String },
    #[error("failed to get Vault ConfigMap '{name}': {error}")]
    ConfigMap { name: String, error: ForeignError },
    #[error("Vault ConfigMap '{name}' is missing the '{key}' key")]
    NoKey { name: String, key: &'static str },
    #[error("failed to parse '{key}' in Vault ConfigMap '{name}': {problem}")]
    Config {
        name: String,
        key: &'static str,
        #[source]
        problem: Box<ConfigError>,
    },
    #[error("failed to authenticate with Vault '{server}' at login path '{path}' as role '{role}': {problem}")]
    Refused {
        server: String,
        path: String,
        role: String,
        #[source]
        problem: Box<TransitError>,
    },
    #[error("Vault '{server}' returned no token for login at '{path}' as role '{role}'")]
    NoToken { server: String, path: String, role: String },
}

/// A ConfigMap does not have login paths, in the words of sigs.k8s.io/yaml.
#[derive(Debug, Error)]
pub(crate) enum ConfigError {
    #[error("error converting YAML to JSON: {}", .0.go())]
    Syntax(bumpwright_yaml::ReadError),
    #[error("error converting YAML to JSON: {}", .0.go())]
    Number(bumpwright_yaml::WriteError),
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Decode(#[from] serde_json::Error),
}

/// A token is not that of a ServiceAccount. It is not quoted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum JwtError {
    #[error("not a JWT")]
    Form,
    #[error("failed to decode token payload: {0}")]
    Encoding(#[from] CorruptInput),
    #[error("failed to unmarshal token payload: it does not fit (line {line}, column {column})")]
    Claims { line: usize, column: usize },
    #[error("unexpected token subject '{0}'")]
    Subject(String),
}

/// A request does not give what it is for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum TransitError {
    /// The token cannot be in a header.
    #[error("configured Vault token contains non-printable characters and cannot be used")]
    Token,
    #[error("{} is not an address; it is https://host:port", quote(.0))]
    Address(String),
    /// The server is not reached.
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("http: no Location header in response")]
    NoLocation,
    #[error("redirect would cause protocol downgrade")]
    Downgrade,
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

/// An answer does not have what it is for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum AnswerError {
    #[error("EOF")]
    Eof,
    #[error("unexpected EOF")]
    Cut,
    /// The parser's own message may quote it.
    #[error("the answer is not JSON (line {line}, column {column})")]
    NotJson { line: usize, column: usize },
    #[error("json: cannot unmarshal {0} into Go value of type api.Secret")]
    Type(&'static str),
    #[error("json: cannot unmarshal {0} into Go struct field Secret.data of type map[string]interface {{}}")]
    Data(&'static str),
    /// Errors beside other fields.
    #[error("{}", .0.join(" "))]
    Errors(Vec<String>),
    #[error("transit backend is empty")]
    Empty,
    #[error("no decrypted data")]
    NoPlaintext,
    #[error("decrypted plaintext data cannot be cast to string")]
    NoText,
    #[error("cannot decode base64 plaintext into data key bytes")]
    Encoding,
    /// The server refuses; its answer, without secrets.
    #[error("{0}")]
    Refused(String),
}
