//! Recorded requests and errors of SOPS' own key services (`fixtures/keys`), compared with ours for the same answers.

use super::*;
use bumpwright_http as http;
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::tls::Certificates;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

#[derive(Deserialize)]
struct Answer {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: String,
}

#[derive(Deserialize)]
struct Asked {
    method: String,
    target: String,
    headers: BTreeMap<String, String>,
    body: String,
}

#[derive(Deserialize)]
struct Case {
    service: String,
    key: BTreeMap<String, Json>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    token: String,
    answers: Vec<Answer>,
    asked: Vec<Asked>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    plain: String,
    #[serde(default)]
    error: String,
}

impl Case {
    fn text(&self, name: &str) -> String {
        let text = self.key.get(name).and_then(Json::as_str).unwrap_or_default();
        text.to_owned()
    }

    /// What ours say otherwise, and why.
    fn other(&self) -> Option<&'static str> {
        let leads_up = |name: &str| self.text(name).split('/').any(|part| part == "..");
        match self.service.as_str() {
            // A name in a file must not lead a token to any other place of the server.
            "vault" if leads_up("engine_path") || leads_up("key_name") => Some("has '..' or a control"),
            "azure" if leads_up("key") => Some("\"..\" is not a valid key name"),
            // An address cannot hold it as it is.
            "gcp" if self.text("resource_id").contains('\n') => Some("no valid resource ID found in"),
            "vault" if self.text("vault_address") == "no address" => {
                Some("\"no address\" is not an address; it is https://host:port")
            }
            "aws" if self.error.contains("invalid character 'o'") => Some("StatusCode: 403, no"),
            _ => None,
        }
    }

    fn reply(&self, number: usize, server: &str) -> Reply {
        let answer = &self.answers[number.min(self.answers.len() - 1)];
        let mut reply = Reply::bytes(answer.status, "application/octet-stream", answer.body.clone());
        reply.headers.clear();
        for (name, value) in &answer.headers {
            reply = reply.header(name, &value.replace("{server}", server));
        }
        reply
    }

    fn master_key(&self, server: &str) -> MasterKey {
        let (enc, created_at) = (self.text("enc"), CREATED.to_owned());
        match self.service.as_str() {
            "aws" => MasterKey::AwsKms {
                arn: self.text("arn"),
                role: self.text("role"),
                context: match self.key.get("context") {
                    Some(context) => serde_json::from_value(context.clone()).unwrap(),
                    None => BTreeMap::new(),
                },
                profile: String::new(),
                enc,
                created_at,
            },
            "gcp" => MasterKey::GcpKms {
                resource_id: self.text("resource_id"),
                enc,
                created_at,
            },
            "azure" => MasterKey::AzureKv {
                vault_url: self.text("vaultUrl"),
                name: self.text("key"),
                version: self.text("version"),
                enc,
                created_at,
            },
            _ => MasterKey::Vault {
                address: self.text("vault_address").replace("{server}", server),
                engine_path: self.text("engine_path"),
                key_name: self.text("key_name"),
                enc,
                created_at,
            },
        }
    }
}

/// A request of ours is that of SOPS: same place, same headers that matter, same fields.
fn assert_same(ours: &Request, theirs: &Asked, service: &str) {
    let place = |target: &str| {
        // Which signs are escaped that need not be is each library's own matter.
        let target = match service {
            // Parameters that say what is so anyway.
            "gcp" => target.split('?').next().unwrap(),
            _ => target,
        };
        http::decoded(target).unwrap()
    };
    assert_eq!(
        (&ours.method, place(&ours.target)),
        (&theirs.method, place(&theirs.target))
    );
    for (name, value) in &theirs.headers {
        let got = ours.header(name).unwrap_or_default();
        let got = if got.starts_with("AWS4-") {
            got.split('/').next().unwrap()
        } else {
            got
        };
        assert_eq!(got, value, "{name}");
    }
    match serde_json::from_str::<Json>(&theirs.body) {
        Ok(theirs) => assert_eq!(body(ours), theirs),
        Err(_) if theirs.body.starts_with("Action=") => {
            let fields: Vec<(String, String)> = url::form_urlencoded::parse(theirs.body.as_bytes())
                .into_owned()
                .collect();
            for (name, value) in fields.iter().filter(|(name, _)| name != "RoleSessionName") {
                assert_eq!(ours.fields(name), std::slice::from_ref(value), "{name}");
            }
        }
        Err(_) => assert_eq!(ours.body, theirs.body.as_bytes()),
    }
}

/// Without the id of a request, which ours leave out.
fn without_id(said: &str) -> String {
    let said = match said.split_once("RequestID: ") {
        Some((before, after)) => format!("{before}{}", after.split_once(", ").unwrap().1),
        None => said.to_owned(),
    };
    said.trim().to_owned()
}

/// Runs a case; panics where it is another.
fn run(case: Case, tls: Option<&(&'static Certificates, Proxy, Arc<StubHttp>)>) {
    let shared = Arc::new(case);
    let case = Arc::clone(&shared);
    let server = match tls {
        Some((.., server)) => Arc::clone(server),
        None => Arc::new(StubHttp::start(move |request| {
            let host = format!("http://{}", request.header("host").unwrap());
            shared.reply(request.number - 1, &host)
        })),
    };
    let address = format!("http://{}", server.address());
    let tokens = StubHttp::start(|request| {
        Reply::json(&json!({"access_token": request.fields("refresh_token")[0], "expires_in": 3600}))
    });
    let mut variables: Vec<(&str, &str)> = case.env.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let reversed: String = case.token.chars().rev().collect();
    let (aws, google) = (
        format!(
            "aws_access_key_id: '{}'\naws_secret_access_key: '{reversed}'\n",
            case.token
        ),
        json!({"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": case.token,
            "token_uri": tokens.url("token")})
        .to_string(),
    );
    let nobody = matches!(
        (case.service.as_str(), case.token.as_str()),
        ("aws", "-") | ("gcp" | "azure", "")
    );
    let mut entries: Vec<(&str, &str)> = match case.service.as_str() {
        "aws" => vec![("sops.aws-kms", &aws)],
        "gcp" => vec![("sops.gcp-kms", &google)],
        "vault" => vec![("sops.vault-token", &case.token)],
        _ => Vec::new(),
    };
    let account = if nobody {
        entries.clear();
        Err(CloudError::Unfit("no identity here".to_owned()))
    } else {
        Ok(None)
    };
    variables.extend([
        ("AWS_ENDPOINT_URL", address.as_str()),
        ("SOPS_GCP_KMS_ENDPOINT", &address),
    ]);
    variables.extend([
        ("AZURE_TENANT_ID", "t"),
        ("AZURE_CLIENT_ID", "c"),
        ("AZURE_CLIENT_SECRET", "s"),
    ]);
    let peer = tls.map_or_else(peer, |(certificates, proxy, _)| peer_of_vaults(certificates, proxy));
    let services = Services::new(cloud_through(peer, &variables), given(&entries), account, soon());
    let got = services.decrypt(&case.master_key(&address));

    let asked: Vec<Request> = server.requests();
    let (logins, asked): (Vec<_>, Vec<_>) = asked.into_iter().partition(|r| r.path.ends_with("/oauth2/v2.0/token"));
    match (got, case.other()) {
        (Err(ours), Some(other)) => return assert!(ours.to_string().contains(other), "{ours}"),
        (Err(ours), None) => {
            let theirs = case.error.replace("{server}", &address);
            assert_eq!(without_id(&ours.to_string()), without_id(&theirs));
        }
        (Ok(plain), _) => {
            assert_eq!(
                (STANDARD.encode(&*plain).as_str(), ""),
                (case.plain.as_str(), case.error.as_str())
            );
        }
    }
    assert_eq!(asked.len(), case.asked.len());
    for (ours, theirs) in asked.iter().zip(&case.asked) {
        assert_same(ours, theirs, &case.service);
    }
    if let Some(login) = logins.first() {
        assert_eq!(login.fields("scope"), std::slice::from_ref(&case.scope));
    }
}

fn peer_of_vaults(certificates: &Certificates, proxy: &Proxy) -> Peer {
    Peer {
        tls: http::Tls {
            ca: Some(certificates.ca.clone()),
            ..http::Tls::default()
        },
        proxy: Some(http::Proxy::at(format!("http://{}", proxy.address))),
        ..peer()
    }
}

/// A vault and Entra behind one address, which answer as the case has it.
fn vaults(case: &Case) -> Option<(&'static Certificates, Proxy, Arc<StubHttp>)> {
    const HOSTS: [&str; 3] = ["team.vault.azure.net", "evil.example.com", "login.microsoftonline.com"];
    static CERTIFICATES: OnceLock<Option<Certificates>> = OnceLock::new();
    let certificates = CERTIFICATES.get_or_init(|| Certificates::for_host(&HOSTS.join(",DNS:")));
    let certificates = certificates.as_ref()?;
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let answers: Vec<Reply> = (0..case.answers.len()).map(|number| case.reply(number, "")).collect();
    let token = case.token.clone();
    let server = StubHttp::with(Some(certificates.server_config(false)), move |request| {
        if request.header("host").unwrap().starts_with("login.") {
            return Reply::json(&json!({"access_token": token, "expires_in": 3600}));
        }
        let number = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        answers[number.min(answers.len() - 1)].clone()
    });
    let leading = HOSTS.map(|host| (format!("{host}:443"), server.address()));
    let leading: Vec<_> = leading.iter().map(|(host, to)| (host.as_str(), *to)).collect();
    Some((certificates, Proxy::leading(None, &leading), Arc::new(server)))
}

/// Panics where ours do something else.
fn judge(line: &str) {
    let case: Case = serde_json::from_str(line).unwrap();
    match case.service.as_str() {
        "azure" => {
            if let Some(tls) = vaults(&case) {
                run(case, Some(&tls));
            }
        }
        _ => run(case, None),
    }
}

#[test]
fn as_sops_asks_and_says() {
    let recorded = include_str!("../../../fixtures/keys/recorded.jsonl");
    let (mut passed, mut total) = (0, 0);
    let lines: Vec<&str> = recorded.lines().collect();
    for some in lines.chunks(24) {
        let outcomes: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = some.iter().map(|line| scope.spawn(move || judge(line))).collect();
            threads.into_iter().map(|thread| thread.join().is_ok()).collect()
        });
        for (line, good) in some.iter().zip(outcomes) {
            (total, passed) = (total + 1, passed + usize::from(good));
            if !good {
                println!("another: {line}");
            }
        }
    }
    println!("key services: {passed} of {total}");
    assert_eq!((passed, total), (total, 317));
}
