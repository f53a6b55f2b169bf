//! What an API server sends, and kubeconfigs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bumpwright_api::{GitRepository, ImageUpdateAutomation, Kustomization, ObjectName};
use bumpwright_kube::{Cluster, KUSTOMIZATION, RemoteRules, Resource, kubeconfig_place};
use bumpwright_secret::Secret;
use tokio::runtime::{Builder, Runtime};

use super::stub::{Stub, response};

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime starts")
    })
}

/// Refusals are retried after a pause, which nobody has to wait for here.
async fn within(work: impl Future<Output = ()>) {
    let _ = tokio::time::timeout(Duration::from_millis(50), work).await;
}

/// What an API server sends to each request, one part after the other.
pub fn answer(input: &[u8]) {
    static STUB: OnceLock<Stub> = OnceLock::new();
    let stub = STUB.get_or_init(Stub::start);
    let parts: Vec<Vec<u8>> = super::parts(input).into_iter().map(response).collect();
    let mut next = 0;
    stub.answers(move |_| {
        next += 1;
        parts[(next - 1) % parts.len()].clone()
    });
    // With an authority of its own, those of the system, hundreds of files, are not read for each input.
    let authority = include_str!("authority.pem.base64");
    let kubeconfig = format!(
        "{{apiVersion: v1, kind: Config, current-context: a, contexts: [{{name: a, context: {{cluster: a, user: a}}}}], \
         clusters: [{{name: a, cluster: {{server: 'http://{}', certificate-authority-data: {authority}}}}}], \
         users: [{{name: a, user: {{token: t}}}}]}}",
        stub.address
    );
    let rules = RemoteRules {
        exec: false,
        skip_tls_verify: false,
    };
    let connected = Cluster::from_kubeconfig(&kubeconfig, rules, Arc::new(|_: &str, _: &str, _: &str| {}));
    let cluster = runtime().block_on(connected).expect("it is usable");
    runtime().block_on(within(async {
        let name = ObjectName {
            namespace: "a".to_owned(),
            name: "b".to_owned(),
        };
        let resource = Resource::of(&KUSTOMIZATION, true);
        if let Ok(object) = cluster.get(&KUSTOMIZATION, &name).await {
            let _ = object.read::<Kustomization>(&KUSTOMIZATION);
            let _ = object.read::<GitRepository>(&KUSTOMIZATION);
            let _ = object.read::<ImageUpdateAutomation>(&KUSTOMIZATION);
            assert_eq!(object.status(), object.value(&KUSTOMIZATION)["status"]);
        }
        let _ = cluster.list(&resource, "a", "").await;
        let _ = cluster.stamps(&resource, "a", "").await;
        let _ = cluster.fetch(&resource, &name).await;
        let _ = cluster.resource_at_any_version(&resource.gvk).await;
    }));
}

/// A kubeconfig of a tenant: nobody is asked yet, and no program runs.
pub fn kubeconfig(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let place = kubeconfig_place(&Secret::new(text));
    for skip_tls_verify in [false, true] {
        let rules = RemoteRules {
            exec: false,
            skip_tls_verify,
        };
        runtime().block_on(within(async {
            if Cluster::from_kubeconfig(text, rules, Arc::new(|_: &str, _: &str, _: &str| {}))
                .await
                .is_ok()
            {
                assert!(place.is_ok(), "usable, but nowhere");
            }
        }));
    }
}
