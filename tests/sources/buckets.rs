//! Buckets at S3, Google and Azure: against moto, and against stubs that check every request, including signatures.

mod azure;
mod gcs;
mod hostile;
mod s3;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::Duration;

use bumpwright_cloud::{Cloud, Endpoints, Environment};
use bumpwright_http::{Deadline, Peer};
use bumpwright_object_store::{
    Bucket, BucketError, BucketProvider, Index, Keys, Limits, Settings, Sts, StsProvider, fetch,
};
use bumpwright_secret::Secret;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::rsa::Rsa;
use bumpwright_testkit::stub_http::StubHttp;
use parking_lot::Mutex;
use serde_json::json;
use url::Url;

const HUNTER: &str = "hunter2/hunter2+hunter2=";

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(30))
}

/// The servers of this test are on this machine, whatever proxies it has.
fn peer() -> Peer {
    Peer {
        environment: false,
        ..Peer::default()
    }
}

fn cloud(variables: &[(&str, &str)], endpoints: Endpoints) -> Cloud {
    Cloud::new(Environment::from_iter(variables.iter().copied()), endpoints, peer())
}

fn keys(data: &[(&str, &str)]) -> Keys {
    let value = |(key, value): &(&str, &str)| ((*key).to_owned(), Secret::from(*value));
    Keys {
        name: "login".to_owned(),
        data: data.iter().map(value).collect(),
    }
}

/// A bucket `podinfo` over plain HTTP, of nobody.
fn settings(provider: BucketProvider, endpoint: &str) -> Settings {
    Settings {
        provider,
        bucket: "podinfo".to_owned(),
        endpoint: endpoint.to_owned(),
        region: String::new(),
        insecure: true,
        secret: None,
        sts: None,
        service_account: None,
        peer: peer(),
        cloud: cloud(&[], Endpoints::default()),
    }
}

fn open(settings: &Settings) -> Bucket {
    Bucket::open(settings, soon()).unwrap()
}

fn opening_fails(settings: &Settings) -> BucketError {
    Bucket::open(settings, soon()).unwrap_err()
}

fn index(bucket: &Bucket) -> Result<Index, BucketError> {
    Index::of(bucket, "", |_| false, Limits::default(), soon())
}

type Files = BTreeMap<String, Vec<u8>>;

/// Fetches all of it; what came, and what was gone.
fn fetched(bucket: &Bucket, index: &mut Index, limits: Limits) -> Result<(Files, Vec<String>), BucketError> {
    let files = Mutex::new(Files::new());
    let store = |place: &str, contents: &mut dyn Read| -> io::Result<()> {
        let mut bytes = Vec::new();
        contents.read_to_end(&mut bytes)?;
        files.lock().insert(place.to_owned(), bytes);
        Ok(())
    };
    let gone = fetch(bucket, index, &store, limits, soon())?;
    Ok((files.into_inner(), gone))
}

fn etags(index: &Index) -> Vec<(String, String)> {
    index
        .objects()
        .map(|object| (object.key.clone(), object.etag.clone()))
        .collect()
}
