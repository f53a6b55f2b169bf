//! Requests with an expiring bearer token of an external source: it is requested on demand, so a wait longer
//! than a token's lifetime works (`fluxcd/pkg/auth/utils`, `restConfigRoundTripper`).

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::sync::Mutex;

use bumpwright_secret::Secret;

/// How long a token is cached.
const KEPT: Duration = Duration::from_secs(60);

/// A bearer token for an API server.
#[derive(Clone, Debug)]
pub struct ServerToken {
    pub token: Secret,
    /// When it expires, if known.
    pub expires: Option<SystemTime>,
}

/// Why no token was issued, as its source says.
pub(super) type TokenError = Box<dyn std::error::Error + Send + Sync>;

/// Returns a valid token. The argument is the token that the server refused, if any.
pub type TokenSource = Arc<dyn Fn(Option<Secret>) -> BoxFuture<'static, Result<ServerToken, TokenError>> + Send + Sync>;

/// The tokens of a server.
pub(crate) struct Login {
    source: TokenSource,
    kept: Mutex<CachedToken>,
}

#[derive(Default)]
struct CachedToken {
    token: Option<(Secret, Instant)>,
    refused: Option<Secret>,
}

impl Login {
    pub(crate) fn new(source: TokenSource) -> Arc<Self> {
        let kept = Mutex::default();
        Arc::new(Self { source, kept })
    }

    /// Adds the token to the requests of a client.
    pub(crate) fn layer(self: &Arc<Self>, client: Client) -> Client {
        let login = Arc::clone(self);
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let (client, login) = (client.clone(), Arc::clone(&login));
            async move {
                let token = login.token().await.map_err(refused)?;
                let value = HeaderValue::try_from(format!("Bearer {}", token.expose()));
                let mut value = value.map_err(|_| refused("a token for the cluster cannot be sent".into()))?;
                value.set_sensitive(true);
                request.headers_mut().insert(AUTHORIZATION, value);
                let answer = client.send(request).await?;
                if answer.status() == StatusCode::UNAUTHORIZED {
                    login.forget(token).await;
                }
                Ok::<_, kube::Error>(answer)
            }
        });
        Client::new(service, "default")
    }

    /// Gets the token; concurrent callers wait and share it.
    async fn token(&self) -> Result<Secret, TokenError> {
        let mut cached = self.kept.lock().await;
        if let Some((token, until)) = &cached.token
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let given = (self.source)(cached.refused.take()).await?;
        let left = given.expires.and_then(|end| end.duration_since(SystemTime::now()).ok());
        let is_long = left.is_some_and(|left| left > 2 * KEPT);
        cached.token = is_long.then(|| (given.token.clone(), Instant::now() + KEPT));
        Ok(given.token)
    }

    async fn forget(&self, token: Secret) {
        let mut cached = self.kept.lock().await;
        if cached.token.as_ref().is_none_or(|(known, _)| *known == token) {
            cached.token = None;
            cached.refused = Some(token);
        }
    }
}

fn refused(why: TokenError) -> kube::Error {
    kube::Error::Service(why)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures::FutureExt as _;

    use super::*;

    /// Tokens `1`, `2` … with this lifetime, and the refused ones.
    fn counted(life: Option<Duration>) -> Arc<Login> {
        let count = AtomicU64::new(0);
        Login::new(Arc::new(move |refused| {
            let count = count.fetch_add(1, Ordering::SeqCst) + 1;
            let said = refused.map_or(String::new(), |token| format!(" after {}", token.expose()));
            let token = ServerToken {
                token: Secret::new(format!("{count}{said}")),
                expires: life.map(|life| SystemTime::now() + life),
            };
            async move { Ok(token) }.boxed()
        }))
    }

    async fn next(login: &Login) -> String {
        login.token().await.unwrap().expose().to_owned()
    }

    #[tokio::test]
    async fn a_token_is_kept_for_a_minute_and_no_longer_than_it_lasts() {
        let login = counted(Some(Duration::from_secs(900)));
        assert_eq!(
            (next(&login).await, next(&login).await),
            ("1".to_owned(), "1".to_owned())
        );
        for life in [None, Some(Duration::from_secs(60))] {
            let login = counted(life);
            assert_eq!(
                (next(&login).await, next(&login).await),
                ("1".to_owned(), "2".to_owned())
            );
        }
    }

    #[tokio::test]
    async fn a_token_that_was_refused_is_not_used_again() {
        let login = counted(Some(Duration::from_secs(900)));
        let first = login.token().await.unwrap();
        login.forget(first.clone()).await;
        assert_eq!(next(&login).await, "2 after 1");
        // Another request with the same token, later.
        login.forget(first).await;
        assert_eq!(next(&login).await, "2 after 1");
    }
}
