//! Requests about objects of any kind, as untyped `serde_json::Value`.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::{Value, json};
use tokio::time::Instant;
use url::form_urlencoded::Serializer;

use super::answer::ApiCall;
use super::answered::{Answer, Answered, Stamp};
use super::discovery::Resource;
use super::pages::{METADATA, METADATA_LIST};
use crate::client::cluster::Cluster;
use crate::error::ClusterError;
use bumpwright_api::ObjectName;
use bumpwright_budget::Exceeded;

/// Options of an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apply<'a> {
    /// The field manager. Conflicting fields are taken over.
    pub manager: &'a str,
    /// Whether the server does not store the result.
    pub dry_run: bool,
}

/// Options of a deletion; dependents are deleted in the background.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deletion {
    /// The uid as a precondition; empty for any.
    pub uid: String,
}

/// Objects per page of a list, as in kubectl.
const PAGE: &str = "500";

/// Objects per page where each is forgotten soon: a page is in memory as a whole, with managed fields.
const SMALL_PAGE: &str = "100";

/// The time limit of all pages of a list.
const LONGEST: Duration = Duration::from_secs(300);

/// A page of a list. An empty one has null items where only metadata are requested.
#[derive(Deserialize)]
struct List<T> {
    #[serde(default = "Option::default")]
    items: Option<Vec<T>>,
    #[serde(default)]
    metadata: ListMetadata,
}

#[derive(Default, Deserialize)]
struct ListMetadata {
    /// The token of the next page; empty in the last one.
    #[serde(default, rename = "continue")]
    next: String,
}

impl<T: Answer> Answer for List<T> {
    fn most(text: &[u8]) -> u64 {
        T::most(text)
    }

    fn weight(&self) -> u64 {
        let items = self.items.iter().flatten();
        items.map(Answer::weight).sum::<u64>() + self.metadata.next.len() as u64
    }
}

/// What `T` keeps of an object, or why it cannot be read as `T`: one such object does not spoil its list.
struct Kept<T>(Result<T, serde_json::Error>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Kept<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // There is one tree at a time: those of a page would take ten times its text.
        let object = Value::deserialize(deserializer)?;
        Ok(Self(serde_json::from_value(object)))
    }
}

impl<T: DeserializeOwned> Answer for Kept<T> {
    /// The caller has it before the next page is read.
    fn weight(&self) -> u64 {
        0
    }
}

#[derive(Deserialize)]
struct MetadataOnly {
    metadata: Stamp,
}

impl Answer for MetadataOnly {
    fn weight(&self) -> u64 {
        self.metadata.weight()
    }
}

/// The objects of a list.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// Empty for all.
    namespace: &'a str,
    /// A selector of labels; empty for all.
    labels: &'a str,
    /// A selector of fields; empty for all.
    fields: &'a str,
    /// Objects per page.
    page: &'a str,
    /// No further page is read when there are more objects than this.
    most: usize,
}

impl<'a> Wanted<'a> {
    fn labelled(namespace: &'a str, labels: &'a str) -> Self {
        Self {
            namespace,
            labels,
            fields: "",
            page: PAGE,
            most: usize::MAX,
        }
    }
}

fn with_query<'a>(path: &str, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("{path}?{query}")
}

impl Cluster {
    /// Reads an object whole.
    ///
    /// # Errors
    /// One with [`ClusterError::is_not_found`] when it does not exist, and any other error of the server.
    pub async fn fetch(&self, resource: &Resource, name: &ObjectName) -> Result<Answered<Value>, ClusterError> {
        self.answer(ApiCall::get(&resource.path(name)?)).await
    }

    /// Reads the metadata of an object, with its `apiVersion` and `kind`.
    pub async fn fetch_metadata(
        &self,
        resource: &Resource,
        name: &ObjectName,
    ) -> Result<Answered<Value>, ClusterError> {
        let path = resource.path(name)?;
        let call = ApiCall {
            accept: METADATA,
            ..ApiCall::get(&path)
        };
        self.answer(call).await
    }

    /// Applies an object server-side, and returns the result.
    pub async fn apply_object(
        &self,
        resource: &Resource,
        name: &ObjectName,
        object: &Value,
        how: Apply<'_>,
    ) -> Result<Answered<Value>, ClusterError> {
        let dry_run = how.dry_run.then_some(("dryRun", "All"));
        let query = [("fieldManager", how.manager), ("force", "true")];
        let path = with_query(&resource.path(name)?, query.into_iter().chain(dry_run));
        self.patched(&path, "application/apply-patch+yaml", object).await
    }

    /// Changes an object by a JSON patch (RFC 6902), and returns the result.
    pub async fn json_patch(
        &self,
        resource: &Resource,
        name: &ObjectName,
        manager: &str,
        patch: &Value,
    ) -> Result<Answered<Value>, ClusterError> {
        let path = with_query(&resource.path(name)?, [("fieldManager", manager)]);
        self.patched(&path, "application/json-patch+json", patch).await
    }

    /// Changes an object by a merge patch (RFC 7386), and returns the result.
    pub async fn merge_patch(
        &self,
        resource: &Resource,
        name: &ObjectName,
        manager: &str,
        patch: &Value,
    ) -> Result<Answered<Value>, ClusterError> {
        let path = with_query(&resource.path(name)?, [("fieldManager", manager)]);
        self.patched(&path, "application/merge-patch+json", patch).await
    }

    async fn patched(&self, path: &str, content_type: &str, patch: &Value) -> Result<Answered<Value>, ClusterError> {
        self.answer(ApiCall {
            method: &Method::PATCH,
            content_type,
            body: patch.to_string().as_bytes(),
            ..ApiCall::get(path)
        })
        .await
    }

    /// Deletes an object; the server removes it once its finalizers are done.
    ///
    /// # Errors
    /// Any error of the server, including that the object does not exist.
    pub async fn delete_object(
        &self,
        resource: &Resource,
        name: &ObjectName,
        how: &Deletion,
    ) -> Result<(), ClusterError> {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        if let (Some(options), false) = (options.as_object_mut(), how.uid.is_empty()) {
            options.insert("preconditions".to_owned(), json!({"uid": how.uid}));
        }
        let (path, body) = (resource.path(name)?, options.to_string());
        let call = ApiCall {
            method: &Method::DELETE,
            content_type: "application/json",
            body: body.as_bytes(),
            ..ApiCall::get(&path)
        };
        self.answer::<Value>(call).await.map(drop)
    }

    /// Lists uids and versions of the objects of a kind with some labels, in a namespace or in all.
    pub async fn stamps(
        &self,
        resource: &Resource,
        namespace: &str,
        labels: &str,
    ) -> Result<Answered<Vec<Stamp>>, ClusterError> {
        let stamp = |item: MetadataOnly| item.metadata;
        self.list_as(METADATA_LIST, resource, Wanted::labelled(namespace, labels), stamp)
            .await
    }

    /// As [`Cluster::stamps`], of at most so many objects; none if there are more.
    pub(crate) async fn stamps_within(
        &self,
        resource: &Resource,
        (namespace, labels): (&str, &str),
        most: usize,
    ) -> Result<Option<Answered<Vec<Stamp>>>, ClusterError> {
        let wanted = Wanted {
            most,
            ..Wanted::labelled(namespace, labels)
        };
        let stamps = self
            .list_as(METADATA_LIST, resource, wanted, |item: MetadataOnly| item.metadata)
            .await?;
        Ok((stamps.len() <= most).then_some(stamps))
    }

    /// Lists the metadata of the objects of a kind with some labels, in a namespace or in all.
    pub async fn list_metadata(
        &self,
        resource: &Resource,
        namespace: &str,
        labels: &str,
    ) -> Result<Answered<Vec<Value>>, ClusterError> {
        let wanted = Wanted::labelled(namespace, labels);
        self.list_as(METADATA_LIST, resource, wanted, |item: Value| item).await
    }

    /// Lists the objects of a kind with some labels, in a namespace or in all.
    pub async fn list(
        &self,
        resource: &Resource,
        namespace: &str,
        labels: &str,
    ) -> Result<Answered<Vec<Value>>, ClusterError> {
        let wanted = Wanted::labelled(namespace, labels);
        self.list_as("", resource, wanted, |item: Value| item).await
    }

    /// Calls `each` for the objects of a kind with some fields, as in `involvedObject.kind=Pod`, in a namespace
    /// or in all: with what `T` keeps of an object, or why it cannot be read as `T`. Of what it does not keep, no more
    /// than a page is in memory.
    pub async fn list_each<T: DeserializeOwned>(
        &self,
        resource: &Resource,
        (namespace, fields): (&str, &str),
        mut each: impl FnMut(Result<T, serde_json::Error>),
    ) -> Result<(), ClusterError> {
        let wanted = Wanted {
            fields,
            page: SMALL_PAGE,
            ..Wanted::labelled(namespace, "")
        };
        let take = |page: Answered<List<Kept<T>>>| {
            let items = page.into_value().items;
            items.into_iter().flatten().for_each(|Kept(item)| each(item));
            Ok(())
        };
        self.pages("", resource, wanted, take).await
    }

    /// Lists the objects of a kind with some labels in a namespace: one page, of one object more than `most`
    /// if there are more.
    pub async fn list_few(
        &self,
        resource: &Resource,
        (namespace, labels): (&str, &str),
        most: usize,
    ) -> Result<Answered<Vec<Value>>, ClusterError> {
        let limit = most.saturating_add(1).to_string();
        let query = [("labelSelector", labels), ("limit", limit.as_str())];
        let path = with_query(&resource.collection(namespace)?, query);
        let call = ApiCall::get(&path);
        let page: Answered<List<Value>> = self.answer(call).await?;
        let few = Answered::empty(Vec::new(), &self.budget.memory);
        let mut few = few.map_err(|cause| self.too_much(call, cause))?;
        let taken = few.take(page, |few: &mut Vec<Value>, page| {
            few.extend(page.items.into_iter().flatten())
        });
        taken.map_err(|cause| self.too_much(call, cause))?;
        Ok(few)
    }

    /// Reads all pages of a list, within the budget.
    async fn list_as<T: Answer, U>(
        &self,
        accept: &str,
        resource: &Resource,
        wanted: Wanted<'_>,
        take: impl Fn(T) -> U,
    ) -> Result<Answered<Vec<U>>, ClusterError> {
        let collection = resource.collection(wanted.namespace)?;
        let objects = Answered::empty(Vec::new(), &self.budget.memory);
        let mut objects = objects.map_err(|cause| self.too_much(ApiCall::get(&collection), cause))?;
        let add = |page| {
            objects.take(page, |objects, page: List<T>| {
                objects.extend(page.items.into_iter().flatten().map(&take));
            })
        };
        self.pages(accept, resource, wanted, add).await?;
        Ok(objects)
    }

    /// Reads a list page by page.
    async fn pages<T: Answer>(
        &self,
        accept: &str,
        resource: &Resource,
        wanted: Wanted<'_>,
        mut take: impl FnMut(Answered<List<T>>) -> Result<(), Exceeded>,
    ) -> Result<(), ClusterError> {
        let collection = resource.collection(wanted.namespace)?;
        let (count, mut seen) = (self.budget.entries.counter(), 0);
        let mut next = String::new();
        let end = Instant::now() + LONGEST;
        loop {
            let from = (!next.is_empty()).then_some(("continue", next.as_str()));
            let fields = (!wanted.fields.is_empty()).then_some(("fieldSelector", wanted.fields));
            let query = [("labelSelector", wanted.labels), ("limit", wanted.page)];
            let path = with_query(&collection, query.into_iter().chain(fields).chain(from));
            let call = ApiCall {
                accept,
                ..ApiCall::get(&path)
            };
            let mut page: Answered<List<T>> = self.answer(call).await?;
            let items = page.items.as_ref().map_or(0, Vec::len);
            next = std::mem::take(&mut page.metadata.next);
            let taken = count.take(items as u64).and_then(|()| take(page));
            taken.map_err(|cause| self.too_much(call, cause))?;
            seen += items;
            if next.is_empty() || seen > wanted.most {
                return Ok(());
            }
            if items == 0 || Instant::now() > end {
                let why = format!("GET {collection}: the list has no end, after {seen} objects");
                return Err(ClusterError::Unreachable(why));
            }
        }
    }
}
