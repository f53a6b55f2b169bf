//! Connections to an API server through a proxy: HTTP `CONNECT`, in TLS too, and SOCKS5, as in client-go
//! (`rest.Config.Proxy`, over Go's `http.Transport`). kube itself does not support logins for SOCKS5.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response, Uri};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::Config;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt as _, DynBody};
use rustls::ClientConfig;
use rustls_pki_types::{InvalidDnsNameError, ServerName};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tower::retry::RetryLayer;
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt as _};
use url::{Host, Url};

use super::connect::REQUEST_TIMEOUT;
use crate::error::full;
use bumpwright_http::{InvalidProxy, Proxy, ProxyError, ProxyParts, TunnelError, proxy_of_environment};

/// Why a client cannot be made. Never with the login of a proxy.
#[derive(Debug, Error)]
pub(crate) enum StackError {
    /// The proxy's address is not usable.
    #[error(transparent)]
    Address(#[from] InvalidProxy),
    /// That of the environment is not.
    #[error(transparent)]
    Environment(#[from] ProxyError),
    /// The settings of the server are not.
    #[error("{}", full(.0))]
    Settings(#[from] kube::Error),
}

/// Why a connection through a proxy cannot be opened.
#[derive(Debug, Error)]
enum OpenError {
    #[error(transparent)]
    Tunnel(#[from] TunnelError),
    /// Its name cannot be in a certificate.
    #[error("no connection to the proxy: {0}")]
    Name(#[from] InvalidDnsNameError),
    #[error("no connection to the proxy: {0}")]
    Tls(#[source] io::Error),
    #[error("the proxy did not answer within {} seconds", REQUEST_TIMEOUT.as_secs())]
    Late,
}

pub(crate) type Stack = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// The client stack for the server of `config`: through the given proxy, else the environment's.
pub(crate) fn stack(mut config: Config, given: Option<&Proxy>) -> Result<ClientBuilder<Stack>, StackError> {
    // It may come from the environment, without its exceptions.
    config.proxy_url = None;
    let proxy = match given {
        Some(proxy) => Some(proxy.clone()),
        // In a cluster its own server is never behind a proxy; kube sets the file only there.
        None if config.root_cert_file.is_some() => None,
        None => of_environment(&config.cluster_url)?,
    };
    match proxy {
        Some(proxy) => through(&config, proxy.parts()?),
        None => Ok(ClientBuilder::try_from(config)?),
    }
}

/// The proxy of the environment, as in Go (`golang.org/x/net/http/httpproxy`): none for this machine.
fn of_environment(server: &Uri) -> Result<Option<Proxy>, ProxyError> {
    let Ok(url) = Url::parse(&server.to_string()) else {
        return Ok(None);
    };
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => true,
    };
    if is_here { Ok(None) } else { proxy_of_environment(&url) }
}

/// kube's layers over our own connections.
fn through(config: &Config, proxy: ProxyParts) -> Result<ClientBuilder<Stack>, StackError> {
    let tunnels = Tunnels {
        tls: Arc::new(config.rustls_client_config()?),
        proxy: Arc::new(proxy),
    };
    let connector = config.rustls_https_connector_with_connector(tunnels)?;
    let client: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let retry = config
        .default_retry
        .then(|| RetryLayer::new(RetryPolicy::server_retry()));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(retry)
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(client);
    let boxed = service
        .map_err(BoxError::from)
        .map_response(|answer: Response<_>| answer.map(erased));
    Ok(ClientBuilder::new(
        BoxService::new(boxed),
        config.default_namespace.clone(),
    ))
}

fn erased<B>(body: B) -> Box<DynBody>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    Box::new(body.map_err(Into::into))
}

/// A connector through a proxy.
#[derive(Clone)]
struct Tunnels {
    proxy: Arc<ProxyParts>,
    /// For a proxy with TLS; Go has the same trust for it as for the server.
    tls: Arc<ClientConfig>,
}

impl Tunnels {
    async fn open(self, server: Uri) -> Result<TokioIo<Tunnel>, OpenError> {
        let host = server.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = server.port_u16().unwrap_or(match server.scheme_str() {
            Some("http") => 80,
            _ => 443,
        });
        let connection = self.proxy.connect().await?;
        let mut stream: Box<dyn Stream> = match self.proxy.tls_name() {
            None => Box::new(connection),
            Some(name) => {
                let name = ServerName::try_from(name.to_owned())?;
                let secured = TlsConnector::from(self.tls).connect(name, connection).await;
                Box::new(secured.map_err(OpenError::Tls)?)
            }
        };
        self.proxy.lead(&mut stream, host, port).await?;
        Ok(TokioIo::new(Tunnel(stream)))
    }
}

impl Service<Uri> for Tunnels {
    type Response = TokioIo<Tunnel>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let opened = tokio::time::timeout(REQUEST_TIMEOUT, self.clone().open(server));
        async move { Ok(opened.await.map_err(|_| OpenError::Late)??) }.boxed()
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection through a proxy.
struct Tunnel(Box<dyn Stream>);

impl Connection for Tunnel {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, to)
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
