//! The environment variables that the program and its libraries read, held against the source.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::commands::program;
use super::markdown::{generated, item, paragraph};
use super::source::{files, texts};

type Variable = (&'static str, &'static str);

/// A title, who reads them, and the variables.
const SECTIONS: &[(&str, &str, &[Variable])] = &[
    (
        "Commands",
        "",
        &[
            (
                "BUMPWRIGHT_CACHE",
                "mirrors and caches; default: `bumpwright` in the user's cache folder.",
            ),
            (
                "BUMPWRIGHT_GIT_USERNAME",
                "the user name for Git servers; as `--username`.",
            ),
            (
                "BUMPWRIGHT_GIT_PASSWORD",
                "a password for Git servers; as `--password-file`.",
            ),
            (
                "BUMPWRIGHT_GIT_TOKEN",
                "a bearer token for Git servers; as `--token-file`.",
            ),
            (
                "BUMPWRIGHT_GIT_SERVER",
                "the servers that these are for where only manifests name repositories; as `--git-server`.",
            ),
            (
                "BUMPWRIGHT_PULL_REQUEST_TOKEN",
                "a token for the API of a forge; as `--pull-request-token-file`.",
            ),
            ("GH_TOKEN", "a token for github.com, with `update --release-notes`."),
            (
                "GITHUB_TOKEN",
                "the same, after that; in a job of GitHub Actions, Gitea or Forgejo also for `fleet review --comment`.",
            ),
            (
                "GIT_AUTHOR_NAME",
                "the name of commits' author, before git's `user.name`.",
            ),
            (
                "GIT_AUTHOR_EMAIL",
                "the address of commits' author, before git's `user.email`.",
            ),
            ("HELM_NAMESPACE", "as `--namespace` of `helm template`."),
            ("XDG_CACHE_HOME", "the user's cache folder; default: `~/.cache`."),
            ("HOME", "the user's folder."),
        ],
    ),
    (
        "Jobs of CI",
        "Read by `fleet review --comment`, as the platforms set them.",
        &[
            ("GITHUB_ACTIONS", "`true` in GitHub Actions, Gitea and Forgejo."),
            ("GITEA_ACTIONS", "`true` in the latter two."),
            ("FORGEJO_ACTIONS", "`true` in the last one."),
            ("GITHUB_API_URL", "the API of the forge."),
            ("GITHUB_SERVER_URL", "the forge."),
            ("GITHUB_REPOSITORY", "the repository at it."),
            (
                "GITHUB_EVENT_PATH",
                "the file with the event, which has the number of the pull request.",
            ),
            ("GITLAB_CI", "`true` in GitLab CI."),
            ("CI_API_V4_URL", "the API of GitLab."),
            (
                "CI_MERGE_REQUEST_PROJECT_PATH",
                "the project that the merge request is for.",
            ),
            ("CI_PROJECT_PATH", "the project, without that."),
            ("CI_MERGE_REQUEST_IID", "the number of the merge request."),
        ],
    ),
    (
        "Controller",
        "Variables of Flux's controllers.",
        &[
            (
                "RUNTIME_NAMESPACE",
                "the namespace of the process, with its leases, Secrets and ConfigMaps; default: that of the pod's ServiceAccount.",
            ),
            ("STORAGE_PATH", "as `--storage-path`."),
            ("STORAGE_ADDRESS", "as `--storage-addr`."),
            ("STORAGE_ADV_ADDR", "as `--storage-adv-addr`."),
            ("METRICS_ADDR", "as `--metrics-addr`."),
            ("EVENTS_ADDR", "as `--events-addr`."),
            (
                "HOSTNAME",
                "the host in the URLs of artifacts; default: the host's name.",
            ),
            (
                "SOURCE_CONTROLLER_LOCALHOST",
                "the host to fetch artifacts from, in place of the one in their URLs.",
            ),
            ("SOURCE_WATCHER_LOCALHOST", "the same for artifacts of source-watcher."),
        ],
    ),
    (
        "kustomize and helm",
        "Read by `build`, `diff` and the controller.",
        &[
            ("KUSTOMIZE_PLUGIN_HOME", "the folder of plugins."),
            (
                "XDG_CONFIG_HOME",
                "where that folder is by default: `kustomize/plugin`.",
            ),
        ],
    ),
    (
        "Proxies",
        "For HTTP to Git servers, registries, clouds and API servers, unless the object names a proxy.",
        &[
            ("HTTPS_PROXY", "for https; also `https_proxy`."),
            ("http_proxy", "for http; in lower case only, as with curl."),
            ("ALL_PROXY", "for both; also `all_proxy`."),
            (
                "NO_PROXY",
                "hosts and networks that are reached without a proxy; also `no_proxy`.",
            ),
        ],
    ),
    (
        "Logins at registries",
        "Read by commands. The controller reads Secrets.",
        &[
            (
                "DOCKER_CONFIG",
                "the folder of docker's `config.json`; default: `~/.docker`.",
            ),
            ("DOCKER_AUTH_CONFIG", "logins in the form of that file, before it."),
            ("REGISTRY_AUTH_FILE", "podman's file of logins."),
            (
                "XDG_RUNTIME_DIR",
                "where podman's file is by default: `containers/auth.json`.",
            ),
            ("PATH", "where credential helpers are."),
        ],
    ),
    (
        "AWS",
        "As the vendor's library reads them; in a controller for `provider: aws`, buckets and SOPS.",
        &[
            ("AWS_ACCESS_KEY_ID", "also `AWS_ACCESS_KEY`."),
            ("AWS_SECRET_ACCESS_KEY", "also `AWS_SECRET_KEY`."),
            ("AWS_SESSION_TOKEN", ""),
            ("AWS_PROFILE", "also `AWS_DEFAULT_PROFILE`."),
            ("AWS_CONFIG_FILE", ""),
            ("AWS_SHARED_CREDENTIALS_FILE", ""),
            ("AWS_REGION", ""),
            ("AWS_ROLE_ARN", ""),
            ("AWS_ROLE_SESSION_NAME", ""),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", ""),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN", ""),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", ""),
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", ""),
            ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", ""),
            ("AWS_EC2_METADATA_DISABLED", ""),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", ""),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", ""),
            ("AWS_EC2_METADATA_V1_DISABLED", ""),
            (
                "AWS_ENDPOINT_URL",
                "also with the name of a service: `AWS_ENDPOINT_URL_STS`.",
            ),
            ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", ""),
            ("AWS_USE_DUALSTACK_ENDPOINT", ""),
            ("AWS_USE_FIPS_ENDPOINT", ""),
        ],
    ),
    (
        "Azure",
        "As the vendor's library reads them; in a controller for `provider: azure`, buckets and SOPS.",
        &[
            ("AZURE_AUTHORITY_HOST", ""),
            ("AZURE_CLIENT_ID", ""),
            ("AZURE_TENANT_ID", ""),
            ("AZURE_CLIENT_SECRET", ""),
            ("AZURE_CLIENT_CERTIFICATE_PATH", ""),
            ("AZURE_FEDERATED_TOKEN_FILE", ""),
            ("AZURE_ENVIRONMENT_FILEPATH", ""),
            ("AZURE_POD_IDENTITY_AUTHORITY_HOST", ""),
            ("AZURE_USERNAME", "refused: logins with a password are not supported."),
            ("IDENTITY_ENDPOINT", ""),
            ("IDENTITY_HEADER", ""),
            ("IDENTITY_SERVER_THUMBPRINT", ""),
            ("IMDS_ENDPOINT", ""),
            ("MSI_ENDPOINT", ""),
        ],
    ),
    (
        "Google",
        "As the vendor's library reads them; in a controller for `provider: gcp`, buckets and SOPS.",
        &[
            ("GOOGLE_APPLICATION_CREDENTIALS", ""),
            ("CLOUDSDK_CONFIG", ""),
            ("GCE_METADATA_HOST", ""),
            ("STORAGE_EMULATOR_HOST", ""),
            ("APPDATA", "on Windows, in place of `CLOUDSDK_CONFIG`."),
            ("USERPROFILE", "the user's folder without `HOME`."),
        ],
    ),
    (
        "SOPS and Vault",
        "",
        &[
            (
                "SOPS_HC_VAULT_ALLOWLIST",
                "the servers that may get `VAULT_TOKEN`: see [security](../how/security.md).",
            ),
            ("SOPS_GCP_KMS_ENDPOINT", "another endpoint of Google's key service."),
            (
                "SOPS_GCP_KMS_UNIVERSE_DOMAIN",
                "another domain of Google's key service.",
            ),
            ("VAULT_TOKEN", "the token for Vault, if the Kustomization has none."),
            ("VAULT_AGENT_ADDR", ""),
            ("VAULT_CACERT", ""),
            ("VAULT_CACERT_BYTES", ""),
            ("VAULT_CAPATH", ""),
            ("VAULT_CLIENT_CERT", ""),
            ("VAULT_CLIENT_KEY", ""),
            ("VAULT_CLIENT_TIMEOUT", ""),
            ("VAULT_DISABLE_REDIRECTS", ""),
            ("VAULT_HTTP_PROXY", ""),
            ("VAULT_MAX_RETRIES", ""),
            ("VAULT_NAMESPACE", ""),
            ("VAULT_PROXY_ADDR", ""),
            ("VAULT_SKIP_VERIFY", ""),
            ("VAULT_HEADERS", "refused: not supported."),
            ("VAULT_SRV_LOOKUP", "refused: not supported."),
            ("VAULT_TLS_SERVER_NAME", "refused: not supported."),
        ],
    ),
];

/// Read by libraries and by git: the variable, its meaning, and the crate.
const OF_LIBRARIES: [(&str, &str, &str); 6] = [
    (
        "KUBECONFIG",
        "the cluster of `diff -k`, `install`, and of a `controller` outside of one.",
        "kube-client",
    ),
    ("NO_COLOR", "no colours.", "anstream"),
    (
        "SSL_CERT_FILE",
        "the file of trusted certificates, in place of the system's.",
        "rustls-native-certs",
    ),
    (
        "SSL_CERT_DIR",
        "the folder of trusted certificates, in place of the system's.",
        "rustls-native-certs",
    ),
    ("SSH_AUTH_SOCK", "ssh-agent, for commands.", "russh"),
    ("TMPDIR", "the folder of temporary files; default: `/tmp`.", "tempfile"),
];

/// When the program is built (`bumpwright version`).
const OF_THE_BUILD: [Variable; 2] = [
    ("BUMPWRIGHT_COMMIT", "the commit that is built."),
    ("BUMPWRIGHT_COMMIT_DATE", "its date."),
];

/// Names in the source that are no variables which the program reads: set or removed for programs that it starts, given
/// by its build script, and words of protocols.
const OTHERS: &[&str] = &[
    "ALL_REVISIONS",
    "BUMPWRIGHT_RUSTC",
    "BUMPWRIGHT_TARGET",
    "CARGO_MANIFEST_DIR",
    "CARGO_PKG_VERSION",
    "CURRENT_FILES",
    "CURRENT_REVISION",
    "ECR_PUBLIC",
    "ESC_IDENTIFIER",
    "GCM_INTERACTIVE",
    "HELM_CACHE_HOME",
    "HELM_CONFIG_HOME",
    "HELM_DATA_HOME",
    "HELM_ERR_END",
    "HELM_ERR_START",
    "KUSTOMIZE_PLUGIN_CONFIG_ROOT",
    "KUSTOMIZE_PLUGIN_CONFIG_STRING",
    "LC_ALL",
    "NAME_INVALID",
    "NAME_UNKNOWN",
    "NUM_FLOAT",
    "NUM_INT",
    "NUM_UINT",
    "PKCS1_RSA_PKCS1V5",
    "PKIX_ECDSA_P256_SHA_256",
    "PKIX_ED25519",
    "PKIX_RSA_PKCS1V15",
    "PUSH_ARTIFACT",
    "SHA2_256",
    "TRIVIAL_REBASE",
    "TRIVIAL_REBASE_WITH_MESSAGE_UPDATE",
];

/// `environment.md`.
pub fn page() -> String {
    let mut page = "# Environment\n\n".to_owned();
    page.push_str(&generated("the variables of the program"));
    page.push_str("An empty variable counts as unset.\n");
    for (title, about, variables) in SECTIONS {
        write!(page, "\n## {title}\n\n").unwrap();
        if !about.is_empty() {
            page.push_str(&paragraph(about));
        }
        page.extend(
            variables
                .iter()
                .map(|(name, meaning)| item(name, meaning).replace(" \n", "\n")),
        );
    }
    page.push_str("\n## Read by libraries\n\n");
    page.extend(OF_LIBRARIES.iter().map(|(name, meaning, _)| item(name, meaning)));
    page.push_str(
        "\nCommands that start `git`, `ssh`, `gpg`, `helm` or a credential helper pass the environment on to them.\n",
    );
    page.push_str("\n## When it is built\n\nPackagers set these; `bumpwright version` shows them.\n\n");
    page.extend(OF_THE_BUILD.iter().map(|(name, meaning)| item(name, meaning)));
    page
}

/// Each variable on the page is in the source, and each that the source reads is on the page.
#[test]
fn variables_are_those_of_the_source() {
    let mut known: BTreeSet<&str> = SECTIONS
        .iter()
        .flat_map(|(_, _, all)| all.iter().map(|(name, _)| *name))
        .collect();
    known.extend(OF_THE_BUILD.iter().map(|(name, _)| *name));
    let also = page();
    let files = files();
    let mut found = BTreeSet::new();
    for (path, source) in &files {
        for (before, text) in texts(source).filter(|(_, text)| is_variable(text)) {
            let is_read = ["var(", "var_os(", "variable(", "folder(", "env!(", ".get("]
                .iter()
                .any(|call| before.ends_with(call));
            if !is_read && !text.contains('_') {
                // A word in capitals: of the known names only those count.
                found.extend(known.get(text));
                continue;
            }
            found.insert(text);
            let is_for_git = text.starts_with("GIT_") && !known.contains(text);
            assert!(
                also.contains(&format!("`{text}`")) || OTHERS.contains(&text) || is_for_git,
                "{path}: {text} is not in docs/reference/environment.md"
            );
        }
    }
    let everything: Vec<&String> = files.iter().map(|(_, source)| source).collect();
    for name in &known {
        let literal = format!("\"{name}\"");
        assert!(
            everything.iter().any(|source| source.contains(&literal)),
            "{name} is not in the source"
        );
    }
    assert!(found.len() > 60, "{found:?}");
}

/// Flags and libraries name their own.
#[test]
fn variables_of_flags_and_libraries_are_there() {
    let page = page();
    for command in program().get_subcommands() {
        for variable in command.get_arguments().filter_map(|argument| argument.get_env()) {
            assert!(
                page.contains(&format!("`{}`", variable.to_str().unwrap())),
                "{variable:?}"
            );
        }
    }
    let lock = include_str!("../../../Cargo.lock");
    for (name, _, library) in OF_LIBRARIES {
        assert!(lock.contains(&format!("name = \"{library}\"\n")), "{name}: {library}");
    }
}

fn is_variable(text: &str) -> bool {
    text.len() > 3
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && !text.ends_with('_')
}
