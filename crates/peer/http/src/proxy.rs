//! Proxies: settings, and tunnels for SSH (the HTTP agent makes its own).

use std::fmt;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use super::web::{decoded, unescaped};
use bumpwright_secret::Secret;
use bumpwright_text::between;
use thiserror::Error;

/// The address of a proxy is invalid or has another form. It is not in the error, as it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the proxy's address cannot be used; give http://host:port, https://host:port or socks5://host:port{}",
    between(" (", .0.as_ref(), ")")
)]
pub struct InvalidProxy(Option<url::ParseError>);

/// Why a tunnel through a proxy cannot be opened.
#[derive(Debug, Error)]
pub enum TunnelError {
    /// SSH goes through proxies without TLS only.
    #[error("an https:// proxy is not supported for SSH; give http:// or socks5://")]
    Https,
    /// The proxy is not reached.
    #[error("no connection to the proxy: {0}")]
    Connect(#[source] io::Error),
    /// The connection to the proxy broke.
    #[error("the connection to the proxy broke: {0}")]
    Broken(#[from] io::Error),
    /// Its answer to `CONNECT` is too long.
    #[error("the proxy's answer has no end; is it an HTTP proxy?")]
    Endless,
    /// It does not make the tunnel; its answer.
    #[error("the proxy refused: {0}")]
    Refused(String),
    /// It does not take the login.
    #[error("the proxy refused the user name or the password")]
    Login,
    /// It wants another kind of login.
    #[error("the proxy requires another authentication method")]
    Method,
    /// Its answer is not one of SOCKS5.
    #[error("the proxy does not speak SOCKS5")]
    NotSocks,
    /// A name is too long for SOCKS5.
    #[error("SOCKS5 takes no name longer than 255 bytes")]
    LongName,
}

/// A proxy: HTTP `CONNECT` (`http://host:port`, for HTTP remotes also `https://host:port`) or SOCKS5
/// (`socks5://host:port`; the proxy resolves names, as with Go and so Flux).
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its address. User information in it is used when `username` is missing.
    pub address: String,
    /// The user name, if any.
    pub username: Option<String>,
    /// The password, if any.
    pub password: Option<Secret>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = match self.address.rsplit_once('@') {
            Some((_, rest)) => format!("***@{rest}"),
            None => self.address.clone(),
        };
        let mut shown = f.debug_struct("Proxy");
        shown
            .field("address", &address)
            .field("username", &self.username)
            .field("password", &self.password)
            .finish()
    }
}

/// The protocol of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxyScheme {
    Http,
    Https,
    Socks5,
}

/// The parsed settings of a proxy.
#[derive(Clone, Debug)]
pub struct ProxyParts {
    pub(super) scheme: ProxyScheme,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) login: Option<(String, Secret)>,
}

impl Proxy {
    /// The proxy at an address, without a separate login.
    #[must_use]
    pub fn at(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            username: None,
            password: None,
        }
    }

    /// # Errors
    /// The form of the address is unknown.
    pub fn parts(&self) -> Result<ProxyParts, InvalidProxy> {
        let url = Url::parse(&self.address).map_err(|error| InvalidProxy(Some(error)))?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or(InvalidProxy(None))?.to_owned();
        let (scheme, port) = match url.scheme() {
            "http" => (ProxyScheme::Http, 80),
            "https" => (ProxyScheme::Https, 443),
            "socks5" | "socks5h" => (ProxyScheme::Socks5, 1080),
            _ => return Err(InvalidProxy(None)),
        };
        let port = url.port().unwrap_or(port);
        let login = match (&self.username, decoded(url.username())) {
            (Some(name), _) => Some((name.clone(), self.password.clone().unwrap_or_else(|| Secret::from("")))),
            (None, Some(name)) => Some((name, Secret::new(unescaped(url.password().unwrap_or(""))))),
            (None, None) => None,
        };
        Ok(ProxyParts {
            scheme,
            host,
            port,
            login,
        })
    }
}

impl ProxyParts {
    /// Connects to `host` through the proxy, for SSH.
    pub async fn tunnel(&self, host: &str, port: u16) -> Result<TcpStream, TunnelError> {
        if self.scheme == ProxyScheme::Https {
            return Err(TunnelError::Https);
        }
        let mut stream = self.connect().await?;
        self.lead(&mut stream, host, port).await?;
        Ok(stream)
    }

    /// Connects to the proxy itself. The caller adds TLS if there is a [`ProxyParts::tls_name`].
    pub async fn connect(&self) -> Result<TcpStream, TunnelError> {
        let connected = TcpStream::connect((self.bare_host(), self.port)).await;
        connected.map_err(TunnelError::Connect)
    }

    /// The name in the certificate of a proxy with TLS.
    #[must_use]
    pub fn tls_name(&self) -> Option<&str> {
        (self.scheme == ProxyScheme::Https).then(|| self.bare_host())
    }

    /// Requests the tunnel to `host` over a connection to the proxy.
    pub async fn lead<S>(&self, stream: &mut S, host: &str, port: u16) -> Result<(), TunnelError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        match self.scheme {
            ProxyScheme::Http | ProxyScheme::Https => self.http(stream, host, port).await,
            ProxyScheme::Socks5 => self.socks(stream, host, port).await,
        }
    }

    fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    async fn http<S>(&self, stream: &mut S, host: &str, port: u16) -> Result<(), TunnelError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let target = if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        };
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if let Some((name, password)) = &self.login {
            let pair = Secret::new(format!("{name}:{}", password.expose()));
            request.push_str(&format!(
                "Proxy-Authorization: Basic {}\r\n",
                STANDARD.encode(pair.expose())
            ));
        }
        let request = Secret::new(format!("{request}\r\n"));
        stream.write_all(request.expose().as_bytes()).await?;
        let mut head = Vec::new();
        // Byte by byte, because the bytes after the head are for SSH.
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() > 8 * 1024 {
                return Err(TunnelError::Endless);
            }
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head);
        let status = head.lines().next().unwrap_or("");
        match status.split(' ').nth(1) {
            Some(code) if code.len() == 3 && code.starts_with('2') => Ok(()),
            _ => Err(TunnelError::Refused(status.escape_debug().to_string())),
        }
    }

    /// RFC 1928; user name and password as RFC 1929. The proxy resolves the name.
    #[expect(
        clippy::disallowed_methods,
        reason = "answers of a SOCKS proxy; bound: 262 bytes; account: none, on the stack"
    )]
    async fn socks<S>(&self, stream: &mut S, host: &str, port: u16) -> Result<(), TunnelError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let methods: &[u8] = if self.login.is_some() {
            &[5, 2, 0, 2]
        } else {
            &[5, 1, 0]
        };
        stream.write_all(methods).await?;
        let mut choice = [0; 2];
        stream.read_exact(&mut choice).await?;
        match (choice, &self.login) {
            ([5, 0], _) => {}
            ([5, 2], Some((name, password))) => {
                let request = [vec![1], counted(name)?, counted(password.expose())?].concat();
                stream.write_all(&request).await?;
                stream.read_exact(&mut choice).await?;
                if choice != [1, 0] {
                    return Err(TunnelError::Login);
                }
            }
            ([5, _], _) => return Err(TunnelError::Method),
            _ => return Err(TunnelError::NotSocks),
        }
        let request = [vec![5, 1, 0, 3], counted(host)?, port.to_be_bytes().to_vec()].concat();
        stream.write_all(&request).await?;
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await?;
        let [_, code, _, kind] = answer;
        if code != 0 {
            return Err(TunnelError::Refused(socks_reason(code).to_owned()));
        }
        let length = match kind {
            1 => 4,
            4 => 16,
            _ => usize::from(stream.read_u8().await?),
        };
        // The unused bound address of the proxy, and its port.
        stream.read_exact(&mut vec![0; length + 2]).await?;
        Ok(())
    }
}

fn counted(text: &str) -> Result<Vec<u8>, TunnelError> {
    let length = u8::try_from(text.len()).map_err(|_| TunnelError::LongName)?;
    Ok([&[length], text.as_bytes()].concat())
}

/// RFC 1928, section 6.
fn socks_reason(code: u8) -> &'static str {
    match code {
        2 => "not allowed by its rules",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "time to live expired",
        _ => "general failure",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn proxy(address: &str) -> Proxy {
        Proxy {
            address: address.to_owned(),
            username: None,
            password: None,
        }
    }

    #[test]
    fn addresses() {
        let parts = proxy("socks5://[::1]").parts().unwrap();
        assert_eq!(
            (parts.scheme, parts.host.as_str(), parts.port),
            (ProxyScheme::Socks5, "[::1]", 1080)
        );
        let parts = proxy("http://us%40er:p%3Aw@p.example").parts().unwrap();
        let (name, password) = parts.login.unwrap();
        assert_eq!((parts.port, name.as_str(), password.expose()), (80, "us@er", "p:w"));
        let both = Proxy {
            username: Some("other".to_owned()),
            ..proxy("http://user:hunter2@p")
        };
        assert_eq!(both.parts().unwrap().login.unwrap().0, "other");
        assert!(!format!("{both:?}").contains("hunter2"));
        assert!(
            proxy("ftp://u:hunter2@x")
                .parts()
                .is_err_and(|error| !error.to_string().contains("hunter2"))
        );
        assert!(proxy("p.example:80").parts().is_err());
    }
}
