//! What pods get that they did not have: rights on their node, or no replicas.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Change, Changed, few, is_set};
use crate::check::cluster::text;
use crate::verify::images::Workload;
use bumpwright_findings::{Finding, Rule};

/// Capabilities that the level Baseline allows to add.
const CAPABILITIES: &str =
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT";
/// Kernel parameters that it allows.
const SYSCTLS: [&str; 10] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_syncookies",
];
/// SELinux types that it allows.
const SELINUX_TYPES: [&str; 5] = [
    "",
    "container_engine_t",
    "container_init_t",
    "container_kvm_t",
    "container_t",
];

/// Findings about the pods of a workload.
pub(super) fn check(change: &Change<'_>, object: &Changed<'_>, found: &mut Vec<Finding>) {
    let (group, kind) = object.kind();
    let (Some(workload), Some(new)) = (Workload::of(group, kind), object.new_value()) else {
        return;
    };
    let rights = |value: &Value| workload.template(value).map(node_rights);
    let before: BTreeSet<String> = object.old_value().and_then(rights).into_iter().flatten().collect();
    let now = rights(new).into_iter().flatten();
    let gained: Vec<String> = now.filter(|right| !before.contains(right)).collect();
    if !gained.is_empty() {
        let message = format!(
            "its pods get what the level Baseline of Pod Security forbids: {}",
            few(&gained)
        );
        found.push(change.at(Rule::PrivilegedPod, object, "", message));
    }
    let replicas = |value: &Value| value.pointer("/spec/replicas").and_then(Value::as_i64);
    let had_pods = object.old_value().is_none_or(|old| replicas(old) != Some(0));
    if matches!(
        kind,
        "Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController"
    ) && replicas(new) == Some(0)
        && had_pods
    {
        let message = "spec.replicas is 0: it has no pods";
        found.push(change.at(Rule::ScaledToZero, object, "/spec/replicas", message));
    }
}

/// What a pod has that the level Baseline of the Pod Security Standards forbids
/// (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>).
fn node_rights(pod: &Value) -> BTreeSet<String> {
    let mut rights = BTreeSet::new();
    let Some(spec) = pod.get("spec") else { return rights };
    for field in ["hostNetwork", "hostPID", "hostIPC"] {
        if is_set(spec, &format!("/{field}")) {
            rights.insert(field.to_owned());
        }
    }
    for volume in items(spec, "/volumes") {
        if let Some(path) = volume.pointer("/hostPath/path").and_then(Value::as_str) {
            rights.insert(format!("the node's files in {path}"));
        }
    }
    for sysctl in items(spec, "/securityContext/sysctls") {
        let name = text(sysctl, "/name");
        if !SYSCTLS.contains(&name) {
            rights.insert(format!("sysctl {name}"));
        }
    }
    let annotations = pod.pointer("/metadata/annotations").and_then(Value::as_object);
    for (key, value) in annotations.into_iter().flatten() {
        if key.starts_with("container.apparmor.security.beta.kubernetes.io/") && value == "unconfined" {
            rights.insert("no AppArmor profile".to_owned());
        }
    }
    profiles(spec, "", &mut rights);
    for list in ["/containers", "/initContainers", "/ephemeralContainers"] {
        items(spec, list).iter().for_each(|one| container(one, &mut rights));
    }
    rights
}

fn container(container: &Value, found: &mut BTreeSet<String>) {
    let name = format!(" in container {}", text(container, "/name"));
    if is_set(container, "/securityContext/privileged") {
        found.insert(format!("privileged{name}"));
    }
    for capability in items(container, "/securityContext/capabilities/add")
        .iter()
        .filter_map(Value::as_str)
    {
        if !CAPABILITIES.split(' ').any(|allowed| allowed == capability) {
            found.insert(format!("capability {capability}{name}"));
        }
    }
    for port in items(container, "/ports") {
        if let Some(port) = port.get("hostPort").and_then(Value::as_u64).filter(|port| *port > 0) {
            found.insert(format!("the node's port {port}{name}"));
        }
    }
    if !matches!(text(container, "/securityContext/procMount"), "" | "Default") {
        found.insert(format!("procMount{name}"));
    }
    profiles(container, &name, found);
}

/// What pods and containers both have.
fn profiles(value: &Value, of: &str, found: &mut BTreeSet<String>) {
    for (field, profile) in [("seccompProfile", "seccomp"), ("appArmorProfile", "AppArmor")] {
        if text(value, &format!("/securityContext/{field}/type")) == "Unconfined" {
            found.insert(format!("no {profile} profile{of}"));
        }
    }
    if is_set(value, "/securityContext/windowsOptions/hostProcess") {
        found.insert(format!("hostProcess{of}"));
    }
    let options = "/securityContext/seLinuxOptions";
    let is_foreign = !SELINUX_TYPES.contains(&text(value, &format!("{options}/type")));
    if is_foreign
        || ["user", "role"]
            .iter()
            .any(|field| !text(value, &format!("{options}/{field}")).is_empty())
    {
        found.insert(format!("seLinuxOptions{of}"));
    }
}

fn items<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    let items = value.pointer(pointer).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}
