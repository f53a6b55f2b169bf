//! Rights in the cluster that a change gives.

use super::*;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

#[test]
fn wider_rights_are_found() {
    let binding = |kind: &str, subjects: &str| {
        object(
            RBAC,
            kind,
            &format!(
                "roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}\nsubjects: [{subjects}]\n"
            ),
        )
    };
    let (s, t) = ("{kind: ServiceAccount, name: s, namespace: n}", "{kind: User, name: t}");
    contains(
        &one("", &binding("ClusterRoleBinding", s)),
        "warning[wider-rights] ClusterRoleBinding n/x: ServiceAccount n/s gets view in the whole cluster",
    );
    assert_eq!(one("", &binding("RoleBinding", s)), [""; 0]);
    contains(
        &one(
            &binding("RoleBinding", s),
            &binding("RoleBinding", &format!("{t}, {s}")),
        ),
        "User t gets view",
    );
    assert_eq!(
        one(
            &binding("RoleBinding", &format!("{t}, {s}")),
            &binding("RoleBinding", s)
        ),
        [""; 0]
    );

    let role = |rules: &str| object(RBAC, "Role", &format!("rules: [{rules}]\n"));
    let rule = |groups: &str, resources: &str, verbs: &str| {
        format!("{{apiGroups: [{groups}], resources: [{resources}], verbs: [{verbs}]}}")
    };
    let reads = rule("''", "pods, services", "get, list");
    assert_eq!(one("", &role(&reads)), [""; 0]);
    contains(
        &one(
            &role(&reads),
            &role(&rule("''", "pods, services, secrets", "get, list")),
        ),
        "it allows get of secrets, list of secrets",
    );
    // The same in other words, and less.
    let split = format!(
        "{}, {}",
        rule("''", "services", "list, get"),
        rule("''", "pods", "get, list")
    );
    assert_eq!(one(&role(&reads), &role(&split)), [""; 0]);
    assert_eq!(one(&role(&rule("'*'", "'*'", "'*'")), &role(&reads)), [""; 0]);
    let named = "{apiGroups: [''], resources: [secrets], verbs: [get], resourceNames: [a]}";
    contains(
        &one(&role(named), &role(&named.replace("[a]", "[a, b]"))),
        "it allows get of secrets b",
    );
    assert_eq!(one(&role(&rule("''", "secrets", "get")), &role(named)), [""; 0]);
    contains(
        &one("", &role(&rule("'*'", "'*'", "'*'"))),
        "it allows everything of all kinds",
    );
    contains(
        &one("", &role(&rule("''", "users", "impersonate"))),
        "it allows impersonate of users",
    );

    let account = found([", prune: true, serviceAccountName: team", PRUNE], &[], &[]);
    assert_eq!(account.len(), 2, "{account:#?}");
    assert!(
        account[0]
            .contains("warning[wider-rights] Kustomization f/a: the Kustomization has no serviceAccountName any more")
    );
}

/// A binding of `x` in namespace `n` to a ClusterRole.
fn bound(kind: &str, role: &str, subject: &str) -> String {
    object(
        RBAC,
        kind,
        &format!(
            "roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}\nsubjects: [{subject}]\n"
        ),
    )
}

const ACCOUNT: &str = "{kind: ServiceAccount, name: s, namespace: n}";

#[test]
fn a_new_binding_in_a_namespace_is_found_where_it_goes_far_or_is_for_everybody() {
    contains(
        &one("", &bound("RoleBinding", "cluster-admin", ACCOUNT)),
        "warning[wider-rights] RoleBinding n/x: ServiceAccount n/s gets cluster-admin",
    );
    for (kind, name) in [
        ("Group", "system:unauthenticated"),
        ("Group", "system:authenticated"),
        ("User", "system:anonymous"),
    ] {
        let subject = format!("{{kind: {kind}, name: '{name}', apiGroup: rbac.authorization.k8s.io}}");
        contains(
            &one("", &bound("RoleBinding", "view", &format!("{ACCOUNT}, {subject}"))),
            &format!("RoleBinding n/x: {kind} {name} gets view"),
        );
    }
    assert_eq!(one("", &bound("RoleBinding", "edit", ACCOUNT)), [""; 0]);
    // A role of the fleet is looked into.
    let everything = object(
        RBAC,
        "Role",
        "rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]\n",
    );
    let own = bound("RoleBinding", "x", ACCOUNT).replace("kind: ClusterRole", "kind: Role");
    let both = [("a/x.yaml", everything.as_str()), ("a/y.yaml", own.as_str())];
    contains(
        &found([PRUNE, PRUNE], &both[..1], &both),
        "RoleBinding n/x: ServiceAccount n/s gets x",
    );
}

#[test]
fn another_role_of_a_binding_is_found_unless_it_is_less() {
    let changed = |from: &str, to: &str| {
        let [old, new] = [from, to].map(|role| bound("ClusterRoleBinding", role, ACCOUNT));
        let all = one(&old, &new);
        all.into_iter()
            .filter(|text| text.contains("wider-rights"))
            .collect::<Vec<_>>()
    };
    contains(
        &changed("view", "cluster-admin"),
        "ServiceAccount n/s gets cluster-admin in the whole cluster in place of view",
    );
    assert_eq!(changed("cluster-admin", "view"), [""; 0]);
}

#[test]
fn new_cluster_roles_that_reach_credentials_or_pods_are_found() {
    let role = |kind: &str, rules: &str| object(RBAC, kind, rules);
    let rules = |resource: &str, verb: &str| {
        format!("rules: [{{apiGroups: [''], resources: ['{resource}'], verbs: ['{verb}']}}]\n")
    };
    for (resource, verb, shown) in [
        ("secrets", "get", "get of secrets"),
        ("secrets", "watch", "watch of secrets"),
        ("pods/exec", "create", "create of pods/exec"),
        ("serviceaccounts/token", "create", "create of serviceaccounts/token"),
        ("*", "list", "list of *"),
        ("secrets", "*", "everything of secrets"),
    ] {
        let text = rules(resource, verb);
        contains(&one("", &role("ClusterRole", &text)), &format!("it allows {shown}"));
        assert_eq!(one("", &role("Role", &text)), [""; 0], "{resource} {verb}");
    }
    for (resource, verb) in [
        ("pods", "get"),
        ("secrets", "create"),
        ("pods/log", "get"),
        ("deployments", "*"),
    ] {
        assert_eq!(
            one("", &role("ClusterRole", &rules(resource, verb))),
            [""; 0],
            "{resource} {verb}"
        );
    }
    let named = "rules: [{apiGroups: [''], resources: [secrets], verbs: [get], resourceNames: [a]}]\n";
    assert_eq!(one("", &role("ClusterRole", named)), [""; 0]);

    let aggregated = |label: &str| {
        role(
            "ClusterRole",
            &format!("aggregationRule: {{clusterRoleSelectors: [{{matchLabels: {{{label}: 'true'}}}}]}}\nrules: []\n"),
        )
    };
    contains(&one(&aggregated("a"), &aggregated("b")), "its aggregationRule changes");
    assert_eq!(one("", &aggregated("a")), [""; 0]);
}

#[test]
fn another_service_account_of_an_owner_is_found() {
    let account = |name: &str| format!(", prune: true, serviceAccountName: {name}");
    let (team, admin) = (account("team"), account("admin"));
    let changed = found([&team, &admin], &[], &[]);
    assert!(
        changed.len() == 2
            && changed[0].contains(
                "warning[wider-rights] Kustomization f/a: the Kustomization is applied with the rights of ServiceAccount admin, which were team's"
            ),
        "{changed:#?}"
    );
    assert_eq!(found([PRUNE, &team], &[], &[]), [""; 0]);
}
