//! Memory with keys, read from outside of the process.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use crate::siege::siege;
use crate::tarpit::Tarpit;
use bumpwright_testkit::waiting::until;

fn line(id: u32, file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{id}/{file}")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name} is not in {text}"))
        .trim()
        .to_owned()
}

/// A reader of a node's disk waits until the controller is aborted, to find its keys in a core file.
#[test]
fn the_controller_leaves_no_core_and_no_open_files() {
    let Some(siege) = siege() else { return };
    let id = siege.controller.id();
    let core = line(id, "limits", "Max core file size");
    let core: Vec<&str> = core.split_whitespace().take(2).collect();
    assert_eq!(core, ["0", "0"]);
    assert_eq!(line(id, "status", "Umask:"), "0077");
    siege.stands();
}

/// Another process of the same user reads the memory of the controller, or has it aborted and reads the core file.
#[test]
fn nobody_else_of_the_same_user_sees_the_memory() {
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    if !Command::new("setpriv")
        .args(nobody)
        .arg("true")
        .status()
        .is_ok_and(|status| status.success())
    {
        println!("skipped: only root may start programs as somebody else");
        return;
    }
    let tarpit = Tarpit::silent();
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    let program = folder.path().join("bumpwright");
    std::fs::copy(env!("CARGO_BIN_EXE_bumpwright"), &program).unwrap();
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, cluster: {{server: \"http://{}\"}}}}], \
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{}}}}]}}",
        tarpit.host()
    );
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, config).unwrap();
    let mut child = Command::new("prlimit")
        .arg("--core=unlimited")
        .arg("setpriv")
        .args(nobody)
        .arg(&program)
        .args([
            "controller",
            "--metrics-addr=0",
            "--health-addr=0",
            "--controllers=image-reflector",
        ])
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--storage-path={}", folder.path().join("data").display()))
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("it asks the API server", || tarpit.seen() > 0);
    let owner = std::fs::metadata(format!("/proc/{}/mem", child.id())).unwrap().uid();
    assert_eq!(owner, 0, "the memory belongs to the user of the process");
    assert_eq!(
        line(child.id(), "limits", "Max core file size")
            .split_whitespace()
            .next(),
        Some("0")
    );
    let aborted = Command::new("kill")
        .args(["-s", "ABRT", &child.id().to_string()])
        .status();
    assert!(aborted.unwrap().success());
    let status = child.wait().unwrap();
    assert!(status.signal().is_some() && !status.core_dumped(), "{status}");
}
