//! Clusters of clouds: the requests to AWS, Azure and Google, and the tokens for their clusters.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value as Json, json};

use super::{Remote, clusters, failure};
use bumpwright_testkit::aws_signature::AwsKey;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tls::Certificates;
use bumpwright_testkit::world::SERVICE_ACCOUNT;

/// Part of every secret that the stubs give.
const HUNTER: &str = "hunter2";
const FAR: &str = "2099-01-01T00:00:00Z";
const POOL: &str = "projects/1/locations/global/workloadIdentityPools/p/providers/q";
const EMAIL: &str = "deployer@project.iam.gserviceaccount.com";

const STS: &str = "sts.eu-west-1.amazonaws.com";
const EKS: &str = "eks.eu-west-1.amazonaws.com";
const ENTRA: &str = "login.microsoftonline.com";
const ARM: &str = "management.azure.com";
const FEDERATION: &str = "sts.googleapis.com";
const CREDENTIALS: &str = "iamcredentials.googleapis.com";
const GKE: &str = "container.googleapis.com";
const HOSTS: [&str; 7] = [STS, EKS, ENTRA, ARM, FEDERATION, CREDENTIALS, GKE];

const AWS_CLUSTER: &str = "arn:aws:eks:eu-west-1:123456789012:cluster/my-cluster";
const AZURE_CLUSTER: &str = "/subscriptions/12345678-1234-1234-1234-123456789012/resourceGroups/group/providers/\
    Microsoft.ContainerService/managedClusters/my-cluster";
const GOOGLE_CLUSTER: &str = "projects/project/locations/europe-west1/clusters/my-cluster";

fn secret(text: &str) -> String {
    format!("{text}-{HUNTER}")
}

fn key<'k>(secret: &'k str, service: &'k str) -> AwsKey<'k> {
    AwsKey {
        id: "AK-deployer",
        secret,
        region: "eu-west-1",
        service,
    }
}

/// The authenticator of a cluster: the one of EKS checks the presigned address and opens
/// it, those of AKS and GKE send requests within their clouds.
pub fn authenticator(request: &Request) -> Reply {
    let review: Json = serde_json::from_slice(&request.body).unwrap();
    let token = review["spec"]["token"].as_str().unwrap();
    let user = match token.strip_prefix("k8s-aws-v1.") {
        Some(encoded) => {
            let address = String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).unwrap()).unwrap();
            of_aws(&address).map(|()| "aws")
        }
        None if token == secret("aks") => Ok("azure"),
        None if token == secret("impersonated") => Ok("gcp"),
        None => Err("nobody's token".to_owned()),
    };
    let status = match user {
        Ok(user) => json!({"authenticated": true, "user": {"username": user}}),
        Err(error) => json!({"authenticated": false, "error": error}),
    };
    Reply::json(&json!({"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}))
}

/// As aws-iam-authenticator (`pkg/token`, *Verify*).
fn of_aws(address: &str) -> Result<(), String> {
    let wanted =
        format!("https://{STS}/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&");
    if !address.starts_with(&wanted) || !address.contains("&X-Amz-Expires=900&") {
        return Err(format!("not such an address: {address}"));
    }
    key(&secret("SK"), "sts").check_presigned(address, &[("x-k8s-aws-id", "my-cluster")])
}

/// The clouds, behind one address.
fn internet(request: &Request) -> Reply {
    let second = &clusters().unwrap().second;
    let ca = STANDARD.encode(second.ca());
    let bearer = |token: &str| request.header("authorization") == Some(&*format!("Bearer {}", secret(token)));
    match request.header("host").unwrap_or_default().trim_end_matches(":443") {
        STS => {
            assert_eq!(request.fields("RoleSessionName"), ["aws.clouds.eu-west-1.fluxcd.io"]);
            let credentials = format!(
                "<Credentials><AccessKeyId>AK-deployer</AccessKeyId><SecretAccessKey>{}</SecretAccessKey><SessionToken>{}\
                 </SessionToken><Expiration>{FAR}</Expiration></Credentials>",
                secret("SK"),
                secret("S/T+")
            );
            Reply::bytes(200, "text/xml", format!("<R><Result>{credentials}</Result></R>"))
        }
        EKS => {
            key(&secret("SK"), "eks").check(request).unwrap();
            match request.target.as_str() {
                "/clusters/my-cluster" => Reply::json(&json!({"cluster": {"name": "my-cluster", "status": "ACTIVE",
                    "endpoint": second.url(), "certificateAuthority": {"data": ca}}})),
                _ => {
                    let mut reply = Reply::json(&json!({"message": "No cluster found for name: lost."}));
                    reply.status = 404;
                    reply.header("x-amzn-ErrorType", "ResourceNotFoundException")
                }
            }
        }
        ENTRA => {
            assert_eq!(request.path, "/tenant/oauth2/v2.0/token");
            let token = match request.fields("scope")[0].as_str() {
                "6dae42f8-4368-4678-94ff-3960e28e3630/.default" => "aks",
                "https://management.core.windows.net//.default" => "arm",
                other => return Reply::text(400, other),
            };
            Reply::json(&json!({"expires_in": 3599, "access_token": secret(token)}))
        }
        ARM if bearer("arm") => azure(request, second.url(), &ca),
        FEDERATION => Reply::json(&json!({"expires_in": 3599, "access_token": secret("federated")})),
        CREDENTIALS if bearer("federated") => {
            Reply::json(&json!({"accessToken": secret("impersonated"), "expireTime": FAR}))
        }
        GKE if bearer("impersonated") => {
            assert_eq!(request.target, format!("/v1/{GOOGLE_CLUSTER}"));
            let endpoint = second.url().trim_start_matches("https://");
            Reply::json(&json!({"endpoint": endpoint, "masterAuth": {"clusterCaCertificate": ca}}))
        }
        other => Reply::text(403, other),
    }
}

/// A cluster with two addresses, and one that does not know Entra.
fn azure(request: &Request, address: &str, ca: &str) -> Reply {
    assert_eq!(request.query, "api-version=2022-04-01");
    let kubeconfig = |server: &str| {
        let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": ca}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": HUNTER}}]});
        json!({"name": "clusterUser", "value": STANDARD.encode(text.to_string())})
    };
    let plain = AZURE_CLUSTER.replace("my-cluster", "plain");
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", path) if path == AZURE_CLUSTER => {
            Reply::json(&json!({"properties": {"aadProfile": {"managed": true}}}))
        }
        ("GET", path) if path == plain => Reply::json(&json!({"properties": {}})),
        ("POST", path) if path == format!("{AZURE_CLUSTER}/listClusterUserCredential") => {
            Reply::json(&json!({"kubeconfigs": [kubeconfig(address), kubeconfig("https://private.example.com")]}))
        }
        (_, path) => Reply::text(404, path),
    }
}

/// A controller whose ways to the clouds lead to the stubs.
fn started(remote: &Remote) -> Option<(Controller, StubHttp)> {
    let certificates = Certificates::for_host(&HOSTS.join(",DNS:"))?;
    let internet = StubHttp::with(Some(certificates.server_config(false)), internet);
    let ports: Vec<String> = HOSTS.iter().map(|host| format!("{host}:443")).collect();
    let leads: Vec<_> = ports.iter().map(|port| (port.as_str(), internet.address())).collect();
    let proxy = Proxy::leading(None, &leads);
    let ca = remote.folder.path().join("ca.pem");
    std::fs::write(&ca, &certificates.ca).unwrap();
    let starter = remote
        .starter("controller")
        .flags(&["--controllers=kustomize", "--requeue-dependency=1s"]);
    let starter = starter.variable("SSL_CERT_FILE", &ca);
    // Servers on this machine, including the API servers, are accessed directly.
    let controller = starter
        .variable("HTTPS_PROXY", format!("http://{}", proxy.address))
        .start();
    Some((controller, internet))
}

/// The number of requests to each host, without those for tokens.
fn asked(internet: &StubHttp) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for request in internet.requests() {
        let host = request.header("host").unwrap().trim_end_matches(":443").to_owned();
        if [EKS, ARM, GKE].contains(&host.as_str()) {
            *asked.entry(host).or_default() += 1;
        }
    }
    asked
}

#[test]
fn clusters_of_clouds_are_found_and_reached() {
    let Some(remote) = Remote::new("clouds") else { return };
    let accounts = [
        (
            "aws",
            json!({"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/deployer"}),
        ),
        (
            "azure",
            json!({"azure.workload.identity/tenant-id": "tenant", "azure.workload.identity/client-id": "client"}),
        ),
        (
            "gcp",
            json!({"gcp.auth.fluxcd.io/workload-identity-provider": POOL, "iam.gke.io/gcp-service-account": EMAIL}),
        ),
    ];
    for (name, annotations) in accounts {
        remote.put(SERVICE_ACCOUNT, name, json!({"metadata": {"annotations": annotations}}));
        remote.let_in(name);
    }
    let names = [("aws", AWS_CLUSTER), ("azure", AZURE_CLUSTER), ("gcp", GOOGLE_CLUSTER)];
    let describe = |map: &str, provider: &str, more: Json| {
        let mut whole = json!({"provider": provider, "serviceAccountName": provider, "address": null, "ca.crt": null});
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        remote.describe(map, &whole);
        remote.apply_to(map, map, json!({}));
    };
    // K-114, K-115: only the name is given.
    for (provider, cluster) in names {
        describe(provider, provider, json!({ "cluster": cluster }));
    }
    let Some((controller, internet)) = started(&remote) else {
        return;
    };
    for (provider, _) in names {
        remote.applied(provider, "1");
        assert_eq!(remote.there(provider), "1");
    }
    let once = [(EKS, 1), (ARM, 2), (GKE, 1)].map(|(host, count)| (host.to_owned(), count));
    assert_eq!(asked(&internet), BTreeMap::from(once));

    // Descriptions are cached, and given values are not requested.
    let (address, ca) = (remote.second.url(), String::from_utf8_lossy(remote.second.ca()));
    for (provider, cluster) in names {
        let map = format!("{provider}-given");
        // K-113: AWS wants the name for its region.
        let cluster = (provider == "aws").then_some(cluster);
        describe(
            &map,
            provider,
            json!({"cluster": cluster, "address": address, "ca.crt": ca}),
        );
        remote.applied(&map, "1");
        remote.again(provider, "later");
        remote.applied(provider, "1");
    }
    assert_eq!(asked(&internet).values().sum::<usize>(), 4, "{:?}", asked(&internet));

    // K-114: the address is one of the cluster's.
    describe(
        "azure-address",
        "azure",
        json!({"cluster": AZURE_CLUSTER, "address": address}),
    );
    remote.applied("azure-address", "1");
    refusals(&remote, &describe);
    let log = controller.log();
    assert!(!log.contains(HUNTER) && !log.contains("k8s-aws-v1"), "{log}");
    assert_eq!(controller.stop(), Some(0));
}

fn refusals(remote: &Remote, describe: &impl Fn(&str, &str, Json)) {
    let address = remote.second.url();
    describe(
        "elsewhere",
        "azure",
        json!({"cluster": AZURE_CLUSTER, "address": "https://elsewhere.example.com"}),
    );
    assert_eq!(
        failure(remote, "elsewhere"),
        format!(
            "no kubeconfig found for AKS cluster {AZURE_CLUSTER} matching the specified address 'https://elsewhere.example.com'. \
             cluster addresses: ['{address}', 'https://private.example.com']"
        )
    );
    let plain = AZURE_CLUSTER.replace("my-cluster", "plain");
    describe("plain", "azure", json!({ "cluster": plain }));
    assert_eq!(
        failure(remote, "plain"),
        format!(
            "AKS cluster {plain} does not have Microsoft Entra ID integration enabled. See docs for enabling: \
             https://learn.microsoft.com/en-us/azure/aks/enable-authentication-microsoft-entra-id"
        )
    );
    let lost = AWS_CLUSTER.replace("my-cluster", "lost");
    describe("lost", "aws", json!({ "cluster": lost }));
    let said = failure(remote, "lost");
    assert!(
        said.starts_with(&format!("failed to describe EKS cluster '{lost}': "))
            && said.ends_with("answered 404 ResourceNotFoundException: No cluster found for name: lost."),
        "{said}"
    );
    describe("id", "gcp", json!({"cluster": "my-cluster"}));
    assert_eq!(
        failure(remote, "id"),
        "invalid GKE cluster ID: 'my-cluster'. must match \
         ^projects/[^/]{1,200}/locations/[^/]{1,200}/clusters/[^/]{1,200}$"
    );
}
