//! A signature of Notation, which Flux's source-controller verifies and ours refuses, with words that say so.

use serde_json::{Value as Json, json};

use crate::artifacts::{joined, run};
use crate::rounds::{Case, Rounds};
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::tool;
use bumpwright_testkit::waiting::until;

fn ready(status: &Json) -> Option<&Json> {
    let conditions = status["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == "Ready")
}

#[test]
fn what_is_not_verified_yet_is_refused() {
    let (Some(_), Some(_)) = (tool("notation-sign"), tool("flux")) else {
        return;
    };
    let (Some(cluster), Some(registry)) = (crate::rounds::cluster(), Registry::start()) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("app.yaml"), "kind: App\n").unwrap();
    let address = format!("oci://{}/app:1.0.0", registry.host());
    let push = ["--path=app.yaml", "--source=here", "--revision=now", "--output=json"];
    let said = run(
        dir.path(),
        "flux",
        &joined(&[&["push", "artifact", &address], &push]),
        "",
    );
    let said: Json = serde_json::from_str(&said).unwrap();
    let image = format!("{}/app@{}", registry.host(), said["digest"].as_str().unwrap());
    run(dir.path(), "notation-sign", &["authority", "."], "");
    let signer = ["sign", "-plain-http", "-key=signer.key", "-chain=chain.crt"];
    run(dir.path(), "notation-sign", &joined(&[&signer, &[&image]]), "");
    let policy = json!({"version": "1.0", "trustPolicies": [{
        "name": "all", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
        "trustStores": ["ca:acme"], "trustedIdentities": ["*"],
    }]});
    let ca = std::fs::read_to_string(dir.path().join("ca.crt")).unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "trust"},
        "stringData": {"trustpolicy.json": policy.to_string(), "ca.crt": ca}});
    let spec = |verify: Json| {
        let url = format!("oci://{}/app", registry.host());
        // Flux's verifier of Notation takes no registry for local.
        json!({"url": url, "ref": {"tag": "1.0.0"}, "insecure": true, "verify": verify})
    };
    let cases = [Case {
        name: "notation",
        spec: spec(json!({"provider": "notation", "secretRef": {"name": "trust"}})),
        change: None,
    }];
    let kind = ("OCIRepository", "ocirepositories");
    let rounds = Rounds::first(&cluster, kind, &[secret], &cases, &dir.path().join("sides"), &[]);
    let [flux, ours] = &rounds.sides;
    // The signature is a real one.
    let status = flux.status("notation");
    assert_eq!(ready(&status).unwrap()["status"], "True", "{status:#}");
    let refused = |name: &str| {
        until("a refusal", || {
            let status = ours.status(name);
            let ready = ready(&status).filter(|ready| ready["status"] == "False")?;
            Some(ready["message"].as_str().unwrap().to_owned())
        })
    };
    let message = refused("notation");
    assert!(
        message.contains("signatures of Notation are not supported yet"),
        "{message}"
    );
}
