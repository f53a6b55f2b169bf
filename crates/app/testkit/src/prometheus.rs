//! The real Prometheus, built by `tests/tools/prepare-real`, on a free port with a temporary folder. It looks every second.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::ports::free_port;
use crate::waiting::{until, wait_for};

/// A program to scrape.
pub struct Target {
    pub job: &'static str,
    /// The name of the pod, for a program of ours.
    pub pod: &'static str,
    /// Host and port.
    pub address: String,
    /// The certificate authority and the token, for HTTPS.
    pub secure: Option<(Vec<u8>, String)>,
}

/// A running server, which ends when it is dropped.
pub struct Prometheus {
    child: Child,
    address: String,
    folder: tempfile::TempDir,
    agent: ureq::Agent,
}

impl Prometheus {
    /// Scrapes these targets and evaluates the rules of a file. None when the program is missing.
    pub fn start(targets: &[Target], rules: &Path) -> Option<Self> {
        let program = crate::tool("prometheus")?;
        let folder = tempfile::tempdir().unwrap();
        let jobs: Vec<Json> = targets.iter().map(|target| job(folder.path(), target)).collect();
        let configuration = json!({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [rules], "scrape_configs": jobs,
        });
        fs::write(folder.path().join("prometheus.yml"), configuration.to_string()).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let log = File::create(folder.path().join("log")).unwrap();
        let child = Command::new(program)
            .args([
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--log.level=warn",
            ])
            .arg(format!("--web.listen-address={address}"))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let agent = ureq::Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build()
            .new_agent();
        let mut prometheus = Self {
            child,
            address,
            folder,
            agent,
        };
        until("Prometheus is ready", || {
            let ended = prometheus.child.try_wait().unwrap();
            assert!(ended.is_none(), "Prometheus has ended: {}", prometheus.log());
            prometheus.try_get("/-/ready").is_some_and(|(status, _)| status == 200)
        });
        Some(prometheus)
    }

    fn try_get(&self, path: &str) -> Option<(u16, String)> {
        let mut answer = self.agent.get(format!("http://{}{path}", self.address)).call().ok()?;
        let text = answer.body_mut().read_to_string().ok()?;
        Some((answer.status().as_u16(), text))
    }

    /// The data of its API, or its error.
    ///
    /// # Errors
    /// The server's words.
    pub fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Json, String> {
        let mut url = url::Url::parse(&format!("http://{}/api/v1/{path}", self.address)).unwrap();
        url.query_pairs_mut().extend_pairs(parameters);
        let mut answer = self.agent.get(url.as_str()).call().unwrap();
        let mut body: Json = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        match body["status"].as_str() {
            Some("success") if body.get("warnings").is_none() => Ok(body["data"].take()),
            _ => Err(body.to_string()),
        }
    }

    /// The series of an expression now.
    ///
    /// # Errors
    /// The server's words.
    pub fn query(&self, expression: &str) -> Result<Vec<Json>, String> {
        let mut found = self.ask("query", &[("query", expression)])?;
        match found["resultType"].as_str() {
            Some("vector") => Ok(serde_json::from_value(found["result"].take()).unwrap()),
            _ => Err(found.to_string()),
        }
    }

    /// Waits until an expression has series; returns them.
    pub fn finds(&self, expression: &str) -> Vec<Json> {
        wait_for(
            || Some(self.query(expression).unwrap()).filter(|found| !found.is_empty()),
            || format!("{expression} has series"),
        )
    }

    /// Its warnings and errors.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

fn job(folder: &Path, target: &Target) -> Json {
    let mut labels = json!({});
    if !target.pod.is_empty() {
        labels["pod"] = json!(target.pod);
    }
    let mut job = json!({
        "job_name": target.job, "honor_labels": true,
        "static_configs": [{"targets": [target.address], "labels": labels}],
    });
    if let Some((authority, token)) = &target.secure {
        let file = folder.join("authority.crt");
        fs::write(&file, authority).unwrap();
        job["scheme"] = json!("https");
        job["tls_config"] = json!({ "ca_file": file });
        job["authorization"] = json!({ "credentials": token });
    }
    job
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("Prometheus: {}", self.log());
        }
    }
}
