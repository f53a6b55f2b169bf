//! A hook for each answer of the API server, for metrics (client-go, `rest_client_requests_total`), and the
//! rate limit of watches.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};
use tower::{Layer, Service};

use crate::client::limit::Limit;

/// Called for each answer with its status code, or `<error>` when there was none; the server's host and port; the
/// method. It must not block.
pub type OnAnswer = Arc<dyn Fn(&str, &str, &str) + Send + Sync>;

/// The layer of [`Watched`].
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) on_answer: OnAnswer,
    pub(crate) host: Arc<str>,
    pub(crate) limit: Limit,
    /// Whether requests wait here for the rate limit. Others wait before their timeout starts.
    pub(crate) waits: bool,
}

impl<S> Layer<S> for Watch {
    type Service = Watched<S>;

    fn layer(&self, inner: S) -> Watched<S> {
        let watch = self.clone();
        Watched { inner, watch }
    }
}

/// A service with the hook.
pub(crate) struct Watched<S> {
    inner: S,
    watch: Watch,
}

impl<S, A, B> Service<Request<A>> for Watched<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (watch, method) = (self.watch.clone(), request.method().clone());
        // Nothing is sent before the future is polled.
        let answer = self.inner.call(request);
        let limit = watch.limit.clone();
        let waits = watch.waits;
        let answer = async move {
            if waits {
                limit.wait("").await;
            }
            answer.await
        };
        let report = move |answer: &Result<S::Response, S::Error>| {
            let code = answer.as_ref().map(Response::status);
            let code = code.as_ref().map_or("<error>", |status| status.as_str());
            (watch.on_answer)(code, &watch.host, method.as_str());
            if let Ok(answer) = answer {
                watch.limit.see(answer.headers());
            }
        };
        answer.inspect(report).boxed()
    }
}
