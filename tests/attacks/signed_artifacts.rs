//! A registry with artifacts and signatures, and a namespace that trusts some signers: parts of attacks by signatures.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::siege::Siege;
use bumpwright_testkit::digests::sha256;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::sigstore::{ISSUER, Key, Owner, Sigstore, pem_of};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{SECRET, World};

/// Types of signatures: of cosign 3, and of Notation.
pub const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
pub const NOTATION: &str = "application/vnd.cncf.notary.signature";

/// What the registry has, by the end of the path: its type and bytes.
pub type Contents = BTreeMap<String, Served>;

/// A manifest, an index or a blob.
#[derive(Clone)]
pub struct Served {
    pub media: &'static str,
    pub bytes: Vec<u8>,
    /// What the registry says.
    pub digest: String,
}

impl Served {
    pub fn of(media: &'static str, bytes: Vec<u8>) -> Self {
        let digest = sha256(&bytes);
        Self { media, bytes, digest }
    }
}

pub fn put(contents: &mut Contents, kind: &str, media: &'static str, bytes: Vec<u8>) -> String {
    let served = Served::of(media, bytes);
    let digest = served.digest.clone();
    contents.insert(format!("app/{kind}/{digest}"), served);
    digest
}

/// A manifest or an index, also under a tag.
pub fn tagged(contents: &mut Contents, tag: &str, manifest: &Json) -> String {
    let media = if manifest["mediaType"] == Media::Oci.index() {
        Media::Oci.index()
    } else {
        Media::Oci.manifest()
    };
    let served = Served::of(media, manifest.to_string().into_bytes());
    contents.insert(format!("app/manifests/{tag}"), served.clone());
    put(contents, "manifests", media, served.bytes)
}

/// The index of what refers to a digest.
pub fn refer(contents: &mut Contents, digest: &str, referrers: &[Json]) {
    let index = json!({"schemaVersion": 2, "mediaType": Media::Oci.index(), "manifests": referrers}).to_string();
    contents.insert(
        format!("app/referrers/{digest}"),
        Served::of(Media::Oci.index(), index.into_bytes()),
    );
}

/// The entry of a signature in an index.
pub fn referrer(contents: &mut Contents, artifact_type: &str, media: &str, blob: Vec<u8>, annotations: &Json) -> Json {
    let size = blob.len();
    let digest = put(contents, "blobs", "application/octet-stream", blob);
    let layer = json!({"mediaType": media, "digest": digest, "size": size, "annotations": annotations});
    let manifest = json!({"schemaVersion": 2, "mediaType": Media::Oci.manifest(), "artifactType": artifact_type,
        "config": {"mediaType": artifact_type, "digest": sha256(b"{}"), "size": 2}, "layers": [layer]});
    let bytes = manifest.to_string().into_bytes();
    let size = bytes.len();
    let digest = put(contents, "manifests", Media::Oci.manifest(), bytes);
    json!({"mediaType": Media::Oci.manifest(), "digest": digest, "size": size, "artifactType": artifact_type})
}

/// The answer of a registry with these contents.
pub fn answer(contents: &Contents, request: &Request) -> Reply {
    let path = request.path.strip_prefix("/v2/").unwrap_or_default();
    match contents.get(path) {
        _ if path.is_empty() => Reply::json(&json!({})),
        Some(found) => {
            Reply::bytes(200, found.media, found.bytes.clone()).header("Docker-Content-Digest", &found.digest)
        }
        None => Reply::registry_error(404, "MANIFEST_UNKNOWN", path),
    }
}

pub fn registry(contents: Contents) -> StubHttp {
    StubHttp::start(move |request| answer(&contents, request))
}

/// A namespace with the Secrets of who is trusted.
pub fn world(siege: &'static Siege, name: &str, sigstore: &Sigstore, key: &Key) -> World<'static> {
    let world = World::new(siege.cluster, name);
    let secret = |name: &str, data: Json| world.put(SECRET, name, json!({"stringData": data}));
    let root = sigstore.trusted_root().to_string();
    secret("root", json!({"trusted_root.json": root}));
    secret("key", json!({"cosign.pub": key.pem()}));
    let statement = json!({"name": "all", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
        "trustStores": ["ca:acme"], "trustedIdentities": ["*"]});
    let policy = json!({"version": "1.0", "trustPolicies": [statement]}).to_string();
    let authority = pem_of("CERTIFICATE", &Owner::authority("acme", None).certificate);
    secret("notation", json!({"trustpolicy.json": policy, "ca.crt": authority}));
    world
}

/// Which signatures an object asks for.
pub fn verify(by: &str) -> Json {
    match by {
        "key" => json!({"provider": "cosign", "secretRef": {"name": "key"}}),
        "notation" => json!({"provider": "notation", "secretRef": {"name": "notation"}}),
        _ => json!({"provider": "cosign", "trustedRootSecretRef": {"name": "root"},
            "matchOIDCIdentity": [{"issuer": format!("^{ISSUER}$"), "subject": "^https://github.com/acme/app/[.]github/workflows/release.yaml@refs/heads/main$"}]}),
    }
}
