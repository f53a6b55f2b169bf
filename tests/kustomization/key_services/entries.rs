//! The entries of a Secret for key services (K-132, K-137 to K-144), and the errors of unusable ones.

use super::*;
use bumpwright_testkit::rsa::Rsa;

fn refused(entry: &str, value: &str) -> String {
    let said = read(&[(entry, value)]).unwrap_err();
    assert!(!format!("{said} {said:?}").contains("hunter2"), "{said:?}");
    let start = format!("failed to import '{entry}' data from sops decryption Secret 'apps/keys': ");
    said.to_string().strip_prefix(&start).unwrap().to_owned()
}

#[test]
fn k_132_other_entries_are_not_looked_at() {
    let all = [
        ("identity.agekey", "hunter2"),
        ("key.asc", "hunter2"),
        ("sops.aws-kms.bak", "["),
        ("other.aws-kms", "["),
    ];
    let none = given(&all);
    assert_eq!(format!("{none:?}"), format!("{:?}", StaticCredentials::default()));
    let all = given(&[
        (
            "sops.aws-kms",
            "{\"AWS_ACCESS_KEY_ID\": 1, \"aws_secret_access_key\": \"hunter2\"}",
        ),
        ("sops.vault-token", "hunter2"),
    ]);
    let shown = format!("{all:?}");
    assert!(
        shown.contains("access_key_id: \"1\"") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[test]
fn k_137_aws() {
    assert_eq!(
        refused("sops.aws-kms", "hunter2"),
        "failed to unmarshal AWS credentials file: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string \
         into Go value of type struct"
    );
    assert_eq!(
        refused("sops.aws-kms", "aws_access_key_id: [hunter2]"),
        "failed to unmarshal AWS credentials file: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into \
         Go struct field .aws_access_key_id of type string"
    );
    assert!(refused("sops.aws-kms", "a: *hunter2").contains("error converting YAML to JSON: it is not YAML (line 1"));
}

#[test]
fn k_138_azure() {
    let nobody = refused("sops.azure-kv", "tenantId: t\nclientSecret: hunter2");
    assert!(
        nobody.starts_with("invalid data: requires a 'clientId' field, a combination of 'tenantId', 'clientId' and ")
    );
    assert!(refused("sops.azure-kv", "").starts_with("invalid data"));
    assert!(refused("sops.azure-kv", "appId: a\npassword: hunter2").starts_with("invalid data"));
    // Since Flux 2.10.
    assert_eq!(
        refused("sops.azure-kv", "tenantId: t\nclientId: c"),
        "invalid data: requires 'clientSecret' or 'clientCertificate' when both 'tenantId' and 'clientId' are set"
    );
    let bad = "tenantId: a/b\nclientId: c\nclientSecret: hunter2";
    assert!(refused("sops.azure-kv", bad).starts_with("invalid tenantID. You can locate"));
    assert!(refused("sops.azure-kv", "[hunter2").starts_with("failed to unmarshal Azure authentication file: "));
    let chain = "clientId: c\nclientCertificateSendChain: 'hunter2'";
    assert!(refused("sops.azure-kv", chain).ends_with("AADConfig.clientCertificateSendChain of type bool"));

    // As PowerShell writes files.
    let text = "clientId: c\n";
    let units = |to: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(to).collect::<Vec<u8>>();
    let little = [vec![0xff, 0xfe], units(u16::to_le_bytes)].concat();
    let big = [vec![0xfe, 0xff], units(u16::to_be_bytes)].concat();
    let marked = [&[0xef, 0xbb, 0xbf], text.as_bytes()].concat();
    for bytes in [little.clone(), big, marked] {
        let data = [("sops.azure-kv", bytes.as_slice())];
        let shown = format!("{:?}", StaticCredentials::read("a/b", &data).unwrap());
        assert!(shown.contains("id: \"c\", proof: ManagedIdentity"), "{shown}");
    }
    let odd = [("sops.azure-kv", &little[..little.len() - 1])];
    let said = StaticCredentials::read("a/b", &odd).unwrap_err().to_string();
    assert!(
        said.ends_with("failed to decode Azure authentication file bytes: unexpected EOF"),
        "{said}"
    );
}

#[test]
fn k_140_certificates_are_looked_at_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let Some(rsa) = Rsa::make(folder.path()) else { return };
    let with = |pem: &str, more: Json| {
        let mut entry = json!({"tenantId": "t", "clientId": "c", "clientCertificate": pem});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry.to_string()
    };
    let whole = format!("{}{}", rsa.key, rsa.certificate);
    assert!(read(&[("sops.azure-kv", &with(&whole, json!({})))]).is_ok());
    for (pem, more, said) in [
        (
            rsa.key.as_str(),
            json!({}),
            "clientCertificate has no certificate in PEM",
        ),
        (
            rsa.certificate.as_str(),
            json!({}),
            "clientCertificate is not a private key in PEM",
        ),
        ("hunter2", json!({}), "clientCertificate has no certificate in PEM"),
        (
            whole.as_str(),
            json!({"clientCertificatePassword": "hunter2"}),
            "clientCertificatePassword is for PKCS #12 files",
        ),
    ] {
        let got = refused("sops.azure-kv", &with(pem, more));
        assert!(got.starts_with(said), "{got}");
    }
}

#[test]
fn k_143_gcp() {
    assert!(refused("sops.gcp-kms", "hunter2").starts_with("it is not JSON"));
    assert!(refused("sops.gcp-kms", "{\"private_key\":\"hunter2\"}").starts_with("lacks type"));
    // What would run programs or ask addresses here.
    let outside = "{\"type\":\"external_account\",\"credential_source\":{\"executable\":{\"command\":\"hunter2\"}}}";
    assert!(refused("sops.gcp-kms", outside).contains("taken from this process' own options only"));
}

#[test]
fn keys_of_others_are_no_matter_of_services() {
    let services = services(cloud(&[]), &[]);
    let age = MasterKey::Age {
        recipient: "age1x".to_owned(),
        enc: String::new(),
    };
    assert_eq!(failure(&services, &age), "age keys are not handled by a key service");
    struct Local;
    impl KeyService for Local {
        fn decrypt(&self, _: &MasterKey) -> Result<zeroize::Zeroizing<Vec<u8>>, KeyError> {
            Ok(zeroize::Zeroizing::new(b"local".to_vec()))
        }
    }
    let huawei = MasterKey::HuaweiKms {
        key_id: "r:k".to_owned(),
        enc: String::new(),
        created_at: String::new(),
    };
    assert!(failure(&services, &huawei).starts_with("Huawei Cloud KMS is not supported"));
    let both = KeyServices {
        local: Local,
        remote: services,
    };
    assert_eq!(both.decrypt(&age).unwrap().as_slice(), b"local");
    assert!(both.decrypt(&huawei).is_err());
}

/// A line of `fixtures/keys/texts.jsonl`.
#[derive(serde::Deserialize)]
struct Text {
    kind: String,
    text: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    error: String,
}

/// What comes of a text here, or what is wrong with it.
fn outcome(text: &Text, services: &Services) -> Result<String, String> {
    let enc = text.text.clone();
    let created_at = CREATED.to_owned();
    let (said, next) = match text.kind.as_str() {
        "entry" => {
            let read = read(&[("sops.aws-kms", &text.text)]);
            return read.map(|read| format!("{read:?}")).map_err(|e| e.problem().to_owned());
        }
        "standard" => {
            let resource_id = "projects/p/locations/l/keyRings/r/cryptoKeys/k".to_owned();
            let key = MasterKey::GcpKms {
                resource_id,
                enc,
                created_at,
            };
            (failure(services, &key), "no identity here")
        }
        _ => {
            let key = MasterKey::AzureKv {
                vault_url: "http://team.vault.azure.net".to_owned(),
                name: "k".to_owned(),
                version: String::new(),
                enc,
                created_at,
            };
            (failure(services, &key), "non-TLS protected (https) endpoints")
        }
    };
    if said.ends_with(next) {
        Ok(String::new())
    } else {
        Err(said)
    }
}

/// 600 of them; others are given by `BUMPWRIGHT_KEY_TEXTS`.
#[test]
fn texts_are_read_as_go_reads_them() {
    let nobody = Err(CloudError::Unfit("no identity here".to_owned()));
    let services = Services::new(cloud(&[]), given(&[]), nobody, soon());
    let texts = match std::env::var_os("BUMPWRIGHT_KEY_TEXTS") {
        Some(path) => std::fs::read_to_string(path).unwrap(),
        None => include_str!("../../../fixtures/keys/texts.jsonl").to_owned(),
    };
    let (mut passed, mut total) = (0, 0);
    for line in texts.lines() {
        let text: Text = serde_json::from_str(line).unwrap();
        let same = match (outcome(&text, &services), text.error.as_str()) {
            (Ok(shown), "") if text.kind == "entry" => shown.contains(&format!("access_key_id: {:?}", text.id)),
            (Ok(_), "") => true,
            // The parser's own words may quote what is secret.
            (Err(said), error) if error.starts_with("error converting") => {
                said.contains("error converting YAML to JSON: ")
            }
            (Err(said), error) => !error.is_empty() && said.ends_with(error),
            (Ok(_), _) => false,
        };
        total += 1;
        passed += usize::from(same);
        if !same {
            println!("{line}\n   {:?}", outcome(&text, &services));
        }
    }
    println!("texts of key services: {passed} of {total}");
    assert_eq!(passed, total);
}
