//! Answers of bounded bytes, and lists in pages of them. The server counts objects alone (`limit`), so a page
//! that turns out to be too long is dropped and asked for again with fewer, and the next ones have more again
//! while they are short.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http::header::ACCEPT;
use http::request::Parts;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use url::form_urlencoded;

/// The most bytes of a page of more than one object. It is in memory as a whole, with managed fields.
const LONGEST: usize = 4 << 20;

/// The most bytes of a page of one object, and of any other answer that is read as a whole. A server lets objects have
/// two megabytes or so.
const LONGEST_ALONE: usize = 16 << 20;

/// The limit that is divided by this when a page is too long.
const SHRINK: u32 = 4;

/// How the objects of a kind are listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pages {
    /// The most objects of a page.
    pub(crate) most: u32,
    /// Whether nothing but metadata is asked for.
    pub(crate) only_metadata: bool,
}

impl Pages {
    /// A client whose lists have such pages.
    pub(crate) fn of(self, client: &Client) -> Client {
        let (client, size) = (client.clone(), Arc::new(Size::new(self.most)));
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let (client, size) = (client.clone(), Arc::clone(&size));
            let is_page = parameters(request.uri()).any(|(name, _)| name == LIMIT);
            if self.only_metadata {
                let accept = if is_page { METADATA_LIST } else { METADATA };
                request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
            }
            async move {
                if is_page {
                    page(&client, request.into_parts().0, &size).await
                } else {
                    client.send(request).await
                }
            }
        });
        Client::new(service, "default")
    }
}

/// A client whose answers are read as a whole, and have a bound.
pub(crate) fn whole(client: &Client) -> Client {
    let client = client.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move {
            let (head, body) = client.send(request).await?.into_parts();
            let bytes = within(body, LONGEST_ALONE).await?.ok_or_else(too_long)?;
            Ok::<_, kube::Error>(Response::from_parts(head, Body::from(bytes)))
        }
    });
    Client::new(service, "default")
}

fn too_long() -> kube::Error {
    kube::Error::Service(format!("the answer has more than {} MiB", LONGEST_ALONE >> 20).into())
}

const LIMIT: &str = "limit";

/// Asks for a page with ever fewer objects, until it is short enough or has one.
async fn page(client: &Client, request: Parts, size: &Size) -> Result<Response<Body>, kube::Error> {
    loop {
        let limit = size.get();
        let attempt = Request::get(with_limit(&request.uri, limit)).body(Body::empty());
        let mut attempt = attempt.map_err(kube::Error::HttpError)?;
        attempt.headers_mut().clone_from(&request.headers);
        let (head, body) = client.send(attempt).await?.into_parts();
        let most = if limit > 1 { LONGEST } else { LONGEST_ALONE };
        match within(body, most).await? {
            Some(bytes) => {
                size.was(bytes.len());
                return Ok(Response::from_parts(head, Body::from(bytes)));
            }
            None if limit > 1 => size.shrink(limit),
            None => return Err(too_long()),
        }
    }
}

/// The whole of a body; none if it is longer.
#[expect(
    clippy::disallowed_methods,
    reason = "a page of a list, or another answer of an API server; bound: 4 MiB, 16 MiB for one object; account: memory of watched objects once it is read"
)]
async fn within(mut body: Body, most: usize) -> Result<Option<Vec<u8>>, kube::Error> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            if bytes.len() + data.len() > most {
                return Ok(None);
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(Some(bytes))
}

fn parameters(uri: &Uri) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let query = uri.query().into_iter();
    query.flat_map(|query| form_urlencoded::parse(query.as_bytes()))
}

fn with_limit(uri: &Uri, limit: u32) -> String {
    let others = parameters(uri).filter(|(name, _)| name != LIMIT);
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(others).append_pair(LIMIT, &limit.to_string());
    format!("{}?{}", uri.path(), query.finish())
}

/// Objects in the next page.
struct Size {
    now: AtomicU32,
    most: u32,
}

impl Size {
    fn new(most: u32) -> Self {
        Self {
            now: AtomicU32::new(most),
            most,
        }
    }

    fn get(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    fn shrink(&self, from: u32) {
        self.now.store((from / SHRINK).max(1), Ordering::Relaxed);
    }

    /// The last page had so many bytes.
    fn was(&self, bytes: usize) {
        if bytes < LONGEST / SHRINK as usize {
            let more = self.get().saturating_mul(2).min(self.most);
            self.now.store(more, Ordering::Relaxed);
        }
    }
}

pub(crate) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

pub(crate) const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use parking_lot::Mutex;

    use kube::api::{Api, ListParams};

    use super::*;
    use crate::watch::received::Received;

    /// A server with so many objects of so many bytes each; the limits that it was asked with.
    fn server(objects: usize, bytes: usize) -> (Client, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            let get = |name: &str| {
                let mut all = parameters(request.uri());
                all.find(|(one, _)| one == name).map(|(_, value)| value.into_owned())
            };
            let limit: usize = get(LIMIT).unwrap().parse().unwrap();
            let from: usize = get("continue").map_or(0, |from| from.parse().unwrap());
            seen.lock().push(format!("{from}+{limit}"));
            let end = (from + limit).min(objects);
            let next = if end < objects { end.to_string() } else { String::new() };
            let item = |n: usize| serde_json::json!({"metadata": {"name": n.to_string()}, "data": "x".repeat(bytes)});
            let list = serde_json::json!({
                "apiVersion": "v1", "kind": "List", "metadata": {"continue": next, "resourceVersion": "1"},
                "items": (from..end).map(item).collect::<Vec<_>>(),
            });
            async move { Ok::<_, std::io::Error>(Response::new(Body::from(list.to_string().into_bytes()))) }
        });
        (Client::new(service, "default"), asked)
    }

    /// Lists so many objects of so many bytes as a watch does, with 100 objects per page: their names, and
    /// what was asked for.
    fn listed(objects: usize, bytes: usize) -> (Vec<String>, Vec<String>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let (client, asked) = server(objects, bytes);
            let pages = Pages {
                most: 100,
                only_metadata: false,
            };
            let api: Api<Received> = Api::all_with(pages.of(&client), &crate::CONFIG_MAP.resource());
            let (mut names, mut params) = (Vec::new(), ListParams::default().limit(100));
            loop {
                let page = api.list(&params).await.unwrap();
                names.extend(page.items.into_iter().filter_map(|one| one.metadata.name));
                params.continue_token = page.metadata.continue_.filter(|next| !next.is_empty());
                if params.continue_token.is_none() {
                    let asked = asked.lock().clone();
                    return (names, asked);
                }
            }
        })
    }

    #[test]
    fn pages_of_small_objects_are_asked_for_once() {
        let (names, asked) = listed(230, 1000);
        assert_eq!(names.len(), 230);
        assert_eq!(asked, ["0+100", "100+100", "200+100"]);
    }

    #[test]
    fn long_pages_are_asked_for_again_with_fewer_objects() {
        let (names, asked) = listed(5, 3 << 20);
        assert_eq!(names, ["0", "1", "2", "3", "4"]);
        assert_eq!(asked, ["0+100", "0+25", "0+6", "0+1", "1+1", "2+1", "3+1", "4+1"]);
    }

    #[test]
    fn an_answer_without_end_is_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let read = |bytes: usize| {
            runtime.as_ref().unwrap().block_on(async {
                let (client, _) = server(1, bytes);
                let api: Api<Received> = Api::all_with(whole(&client), &crate::LEASE.resource());
                let list = api.list(&ListParams::default().limit(1)).await;
                list.map(|list| list.items.len()).map_err(|error| error.to_string())
            })
        };
        assert_eq!(read(8 << 20), Ok(1));
        let error = read(LONGEST_ALONE).unwrap_err();
        assert!(error.contains("the answer has more than 16 MiB"), "{error}");
    }

    #[test]
    fn pages_grow_again_while_they_are_short() {
        let size = Size::new(100);
        size.shrink(100);
        size.shrink(25);
        let next = |bytes: usize| {
            size.was(bytes);
            size.get()
        };
        assert_eq!([next(LONGEST), next(1000), next(1000), next(1000)], [6, 12, 24, 48]);
        assert_eq!([next(1000), next(1000)], [96, 100]);
    }
}
