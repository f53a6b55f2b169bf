//! The kinds of operators that make Secrets and ConfigMaps.

/// A kind of which an operator makes a Secret or ConfigMap.
pub(super) struct Maker {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    /// `Secret`, `ConfigMap` or both.
    pub(super) makes: &'static [&'static str],
    /// The names of what it makes: texts with pointers into the object.
    pub(super) names: &'static [&'static str],
    pub(super) namespace: Where,
}

/// The namespace of what is made.
pub(super) enum Where {
    /// That of the object.
    Own,
    /// What the object has at a pointer; its own without that.
    At(&'static str),
    /// Those that a ClusterExternalSecret selects.
    Selected,
    Everywhere,
}

const fn secret(group: &'static str, kind: &'static str, names: &'static [&'static str]) -> Maker {
    Maker {
        group,
        kind,
        makes: &["Secret"],
        names,
        namespace: Where::Own,
    }
}

const fn both(group: &'static str, kind: &'static str, names: &'static [&'static str], namespace: Where) -> Maker {
    Maker {
        group,
        kind,
        makes: &["Secret", "ConfigMap"],
        names,
        namespace,
    }
}

const fn at(group: &'static str, kind: &'static str, names: &'static [&'static str], namespace: &'static str) -> Maker {
    Maker {
        group,
        kind,
        makes: &["Secret"],
        names,
        namespace: Where::At(namespace),
    }
}

const HASHICORP: &str = "secrets.hashicorp.com";
const INFISICAL: &str = "secrets.infisical.com";
const MITTWALD: &str = "secretgenerator.mittwald.de";
const NAME: &[&str] = &["{/metadata/name}"];
const DESTINATION: &[&str] = &["{/spec/destination/name}"];

/// By what they are for: vaults, certificates, databases and queues, stores, clusters.
pub(super) const MAKERS: &[Maker] = &[
    secret(
        "external-secrets.io",
        "ExternalSecret",
        &["{/spec/target/name|/metadata/name}"],
    ),
    Maker {
        group: "external-secrets.io",
        kind: "ClusterExternalSecret",
        makes: &["Secret"],
        names: &["{/spec/externalSecretSpec/target/name|/spec/externalSecretName|/metadata/name}"],
        namespace: Where::Selected,
    },
    secret(
        "bitnami.com",
        "SealedSecret",
        &["{/spec/template/metadata/name|/metadata/name}"],
    ),
    secret("onepassword.com", "OnePasswordItem", NAME),
    secret(HASHICORP, "VaultStaticSecret", DESTINATION),
    secret(HASHICORP, "VaultDynamicSecret", DESTINATION),
    secret(HASHICORP, "VaultPKISecret", DESTINATION),
    secret(HASHICORP, "HCPVaultSecretsApp", DESTINATION),
    at(
        INFISICAL,
        "InfisicalSecret",
        &[
            "{/spec/managedSecretReference/secretName}",
            "{/spec/managedKubeSecretReferences/*/secretName}",
        ],
        "/spec/managedSecretReference/secretNamespace",
    ),
    at(
        INFISICAL,
        "InfisicalDynamicSecret",
        &["{/spec/managedSecretReference/secretName}"],
        "/spec/managedSecretReference/secretNamespace",
    ),
    at(
        "secrets.doppler.com",
        "DopplerSecret",
        &["{/spec/managedSecret/name}"],
        "/spec/managedSecret/namespace",
    ),
    secret("k8s.bitwarden.com", "BitwardenSecret", &["{/spec/secretName}"]),
    secret("isindir.github.com", "SopsSecret", &["{/spec/secretTemplates/*/name}"]),
    secret("addons.projectcapsule.dev", "SopsSecret", &["{/spec/secrets/*/name}"]),
    secret("craftypath.github.io", "SopsSecret", NAME),
    secret("ricoberger.de", "VaultSecret", NAME),
    secret(
        "redhatcop.redhat.io",
        "VaultSecret",
        &["{/spec/output/name|/metadata/name}"],
    ),
    secret("spv.no", "AzureKeyVaultSecret", &["{/spec/output/secret/name}"]),
    secret(
        "secrets-store.csi.x-k8s.io",
        "SecretProviderClass",
        &["{/spec/secretObjects/*/secretName}"],
    ),
    secret("secret-sync.x-k8s.io", "SecretSync", NAME),
    secret(MITTWALD, "StringSecret", NAME),
    secret(MITTWALD, "BasicAuth", NAME),
    secret(MITTWALD, "SSHKeyPair", NAME),
    secret("cert-manager.io", "Certificate", &["{/spec/secretName}"]),
    both("trust.cert-manager.io", "Bundle", NAME, Where::Everywhere),
    secret(
        "db.movetokube.com",
        "PostgresUser",
        &["{/spec/secretName}-{/metadata/name}", "{/spec/secretName}"],
    ),
    secret(
        "postgresql.cnpg.io",
        "Cluster",
        &[
            "{/metadata/name}-app",
            "{/metadata/name}-superuser",
            "{/metadata/name}-ca",
            "{/metadata/name}-server",
            "{/metadata/name}-replication",
        ],
    ),
    secret("acid.zalan.do", "postgresql", &["*.{/metadata/name}.credentials*"]),
    secret(
        "postgres-operator.crunchydata.com",
        "PostgresCluster",
        &["{/metadata/name}-pguser-*"],
    ),
    secret(
        "k8s.mariadb.com",
        "MariaDB",
        &[
            "{/spec/rootPasswordSecretKeyRef/name}",
            "{/spec/passwordSecretKeyRef/name}",
            "{/metadata/name}-root",
        ],
    ),
    secret("k8s.mariadb.com", "Connection", &["{/spec/secretName|/metadata/name}"]),
    secret(
        "mongodbcommunity.mongodb.com",
        "MongoDBCommunity",
        &["{/metadata/name}-*"],
    ),
    secret("rabbitmq.com", "RabbitmqCluster", &["{/metadata/name}-default-user"]),
    secret("rabbitmq.com", "User", &["{/metadata/name}-user-credentials"]),
    secret("kafka.strimzi.io", "KafkaUser", NAME),
    secret("kafka.strimzi.io", "Kafka", &["{/metadata/name}-*"]),
    secret(
        "elasticsearch.k8s.elastic.co",
        "Elasticsearch",
        &["{/metadata/name}-es-*"],
    ),
    secret("kibana.k8s.elastic.co", "Kibana", &["{/metadata/name}-kb-*"]),
    secret("k8s.keycloak.org", "Keycloak", &["{/metadata/name}-initial-admin"]),
    secret(
        "ceph.rook.io",
        "CephObjectStoreUser",
        &["rook-ceph-object-user-{/spec/store}-{/metadata/name}"],
    ),
    both("objectbucket.io", "ObjectBucketClaim", NAME, Where::Own),
    both(
        "services.k8s.aws",
        "FieldExport",
        &["{/spec/to/name}"],
        Where::At("/spec/to/namespace"),
    ),
    both(
        "app.terraform.io",
        "Workspace",
        &["{/metadata/name}-outputs"],
        Where::Own,
    ),
    secret(
        "infra.contrib.fluxcd.io",
        "Terraform",
        &["{/spec/writeOutputsToSecret/name}"],
    ),
    secret(
        "cluster.x-k8s.io",
        "Cluster",
        &["{/metadata/name}-kubeconfig", "{/metadata/name}-ca"],
    ),
    secret("k0smotron.io", "Cluster", &["{/metadata/name}-kubeconfig"]),
];
