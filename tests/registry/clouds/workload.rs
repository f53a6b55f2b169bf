//! The identities of ServiceAccounts at all clouds.

use super::aws::{ECR, assert_signed, aws};
use super::azure::{ACR, azure, azure_cloud};
use super::google::{GAR, google};
use super::*;

fn workload(annotations: &[(&str, &str)]) -> WorkloadIdentity {
    WorkloadIdentity {
        namespace: "apps".to_owned(),
        name: "scanner".to_owned(),
        annotations: annotations
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        credential: CredentialSettings::default(),
        issue: Arc::new(|request, _| Ok(Secret::new(format!("token for {}", request.audiences.join(","))))),
    }
}

#[test]
fn service_accounts() {
    let of = |cloud: &Cloud, provider, host, annotations: &[(&str, &str)]| {
        cloud.registry_login(provider, host, Some(&workload(annotations)), soon())
    };
    let server = StubHttp::start(aws);
    let cloud = cloud(&[("AWS_ENDPOINT_URL", &server.url(""))]);
    let role = |name: &str| format!("arn:aws:iam::1:role/{name}");
    for name in ["a", "b", "a"] {
        of(
            &cloud,
            Provider::Aws,
            ECR,
            &[("eks.amazonaws.com/role-arn", &role(name))],
        )
        .unwrap();
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 4, "what is kept is kept for one identity");
    assert_eq!(requests[0].fields("WebIdentityToken"), ["token for sts.amazonaws.com"]);
    assert_eq!(
        requests[0].fields("RoleSessionName"),
        ["scanner.apps.eu-west-1.fluxcd.io"]
    );
    assert_signed(&requests[3], "AK-b", "SK-b", "eu-west-1/ecr");
    let said = of(&cloud, Provider::Aws, ECR, &[]).unwrap_err().to_string();
    assert!(said.starts_with(
        "failed to get access token for artifact registry: failed to get provider identity from service account \
         'apps/scanner' annotations: invalid eks.amazonaws.com/role-arn annotation: ''"
    ));

    let mut refused = workload(&[("eks.amazonaws.com/role-arn", &role("c"))]);
    refused.issue = Arc::new(|_, _| Err(bumpwright_cloud::TokenRefusal::ApiServer("forbidden".to_owned())));
    let said = cloud.registry_login(Provider::Aws, ECR, Some(&refused), soon());
    assert_eq!(
        said.unwrap_err().to_string(),
        "failed to get access token for artifact registry: failed to create kubernetes token for service account \
         'apps/scanner': forbidden"
    );

    let server = StubHttp::start(azure);
    let annotations = [
        ("azure.workload.identity/tenant-id", "t"),
        ("azure.workload.identity/client-id", "c"),
    ];
    of(&azure_cloud(&server, &[]), Provider::Azure, ACR, &annotations).unwrap();
    assert_eq!(
        server.requests()[0].fields("client_assertion"),
        ["token for api://AzureADTokenExchange"]
    );

    let server = StubHttp::start(|request| match request.path.rsplit('/').next().unwrap() {
        "project-id" | "cluster-location" | "cluster-name" if request.header("metadata-flavor").is_some() => {
            Reply::text(200, request.path.rsplit('/').next().unwrap()).header("Metadata-Flavor", "Google")
        }
        _ => google(request),
    });
    let endpoints = Endpoints {
        google_sts: url(&server.url("sts")),
        google_credentials: url(&server.url("")),
        ..Endpoints::default()
    };
    let cloud = cloud_at(&[("GCE_METADATA_HOST", &server.host())], endpoints);
    let email = [("iam.gke.io/gcp-service-account", "a@b.iam.gserviceaccount.com")];
    assert_eq!(
        of(&cloud, Provider::Gcp, GAR, &email).unwrap().password.expose(),
        "impersonated"
    );
    let requests = server.requests();
    let (exchange, impersonation) = (&requests[3], &requests[4]);
    assert_eq!(exchange.fields("subject_token"), ["token for project-id.svc.id.goog"]);
    assert_eq!(
        exchange.fields("audience"),
        [
            "identitynamespace:project-id.svc.id.goog:https://container.googleapis.com/v1/projects/project-id/locations/\
          cluster-location/clusters/cluster-name"
        ]
    );
    assert_eq!(
        impersonation.path,
        "/v1/projects/-/serviceAccounts/a@b.iam.gserviceaccount.com:generateAccessToken"
    );
    let pool = "projects/1/locations/global/workloadIdentityPools/p/providers/q";
    let direct = [("gcp.auth.fluxcd.io/workload-identity-provider", pool)];
    assert_eq!(
        of(&cloud, Provider::Gcp, GAR, &direct).unwrap().password.expose(),
        "federated"
    );
    assert_eq!(
        server.requests()[5].fields("audience"),
        [format!("//iam.googleapis.com/{pool}")]
    );
}
