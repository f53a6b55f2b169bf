//! A tenant's own API server, named by a kubeconfig, sends endless or too large answers.

use std::io::Write as _;

use serde_json::json;

use crate::siege::siege;
use crate::swell_an_artifact::outside;
use bumpwright_testkit::http_server::HttpServer;
use bumpwright_testkit::kustomize_world::map;
use bumpwright_testkit::world::SECRET;

/// The answers of such a server to requests other than discovery.
#[derive(Clone, Copy)]
pub enum Answers {
    /// One endless text.
    Endless(&'static str),
    /// An endless error.
    Refusal,
    /// An endless list of kinds.
    Kinds,
}

const KINDS: &str = r#"{"resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true}]}"#;

pub fn server(answers: Answers) -> HttpServer {
    HttpServer::start(None, move |request, out| {
        let is_kinds = request.path == "/api/v1";
        let (status, first, again) = match answers {
            Answers::Kinds => ("200 OK", r#"{"resources":["#, r#"{"name":"a","kind":"B"},"#),
            _ if is_kinds => {
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{KINDS}",
                    KINDS.len()
                );
                out.write_all(head.as_bytes())?;
                return Ok(true);
            }
            Answers::Endless(again) => ("200 OK", r#"{"kind":"ConfigMap","data":"#, again),
            Answers::Refusal => (
                "500 Internal Server Error",
                r#"{"kind":"Status","message":""#,
                "no no no no ",
            ),
        };
        write!(
            out,
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{first}"
        )?;
        let chunk = again.repeat((1 << 20) / again.len());
        for _ in 0..3000 {
            out.write_all(chunk.as_bytes())?;
        }
        Ok(false)
    })
}

/// The message of a Kustomization whose cluster answers so.
fn applied_to(namespace: &str, answers: Answers) -> Option<String> {
    let siege = siege()?;
    let world = outside(siege.cluster, namespace);
    let server = server(answers);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{}", server.host())}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    world.put(
        SECRET,
        "cluster",
        json!({"stringData": {"value": kubeconfig.to_string()}}),
    );
    world.publish("app", "1", &[("map.yaml", &map("one", "1"))]);
    world.kustomize("app", json!({"kubeConfig": {"secretRef": {"name": "cluster"}}}));
    let message = world.refused("app", "ReconciliationFailed");
    assert!(message.len() < 40_000, "{} bytes of message", message.len());
    siege.stands();
    Some(message)
}

fn is_bounded(namespace: &str, answers: Answers) {
    let Some(message) = applied_to(namespace, answers) else {
        return;
    };
    assert!(message.contains("--build-memory raises the bound"), "{message}");
    assert!(message.contains("the answer of "), "{message}");
}

#[test]
fn a_text_without_end() {
    is_bounded("mallory-text", Answers::Endless("xxxxxxxxxxxxxxxx"));
}

/// Each map of eight bytes takes hundreds once it is read.
#[test]
fn maps_without_end() {
    is_bounded("mallory-nested", Answers::Endless(r#"{"a":1},"#));
}

#[test]
fn kinds_without_end() {
    is_bounded("mallory-kinds", Answers::Kinds);
}

#[test]
fn a_refusal_without_end() {
    applied_to("mallory-refusal", Answers::Refusal);
}
