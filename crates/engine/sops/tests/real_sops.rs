//! Files encrypted by the current sops: each format, each kind of key that decrypts here, each option, decrypted as
//! sops itself decrypts them (K-128, K-134 … K-136). The keys are made by age-keygen, ssh-keygen and gpg.
//!
//! sops and age-keygen are built by `tests/tools/prepare`; without them these tests are skipped, but fail
//! when `CI` is set.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

#[path = "../../../../tests/tools/tool.rs"]
mod tool;

use bumpwright_sops::{Format, Integrity, LocalKeys, decrypt};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool::tool;

/// A folder with keys of every kind, and the programs.
struct World {
    folder: tempfile::TempDir,
    sops: PathBuf,
    /// Name, recipient, private key.
    keys: Vec<(&'static str, String, Vec<u8>)>,
}

impl World {
    fn new() -> Option<Self> {
        let (sops, age_keygen) = (tool("sops")?, tool("age-keygen")?);
        let (ssh_keygen, gpg) = (tool("ssh-keygen")?, tool("gpg")?);
        let mut world = Self {
            folder: tempfile::tempdir().unwrap(),
            sops,
            keys: Vec::new(),
        };
        fs::create_dir(world.path("gnupg")).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(world.path("gnupg"), private).unwrap();
        world.age(&age_keygen, "age", &[]);
        world.age(&age_keygen, "age hybrid", &["-pq"]);
        world.ssh(&ssh_keygen, "ssh-ed25519", &["-t", "ed25519"]);
        world.ssh(&ssh_keygen, "ssh-rsa", &["-t", "rsa", "-b", "2048"]);
        world.pgp(&gpg, "pgp-rsa", ["rsa2048", "rsa2048"]);
        world.pgp(&gpg, "pgp-ecc", ["ed25519", "cv25519"]);
        Some(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The output of a program, in this folder and with only its keys.
    fn run<A: AsRef<OsStr>>(&self, program: &Path, arguments: impl IntoIterator<Item = A>) -> Vec<u8> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.folder.path())
            .env("GNUPGHOME", self.path("gnupg"));
        command.env("SOPS_AGE_KEY_FILE", self.path("age.key"));
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{command:?}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    fn age(&mut self, age_keygen: &Path, name: &'static str, flags: &[&str]) {
        let private = self.run(age_keygen, flags);
        let file = self.path(&format!("{name}.key"));
        fs::write(&file, &private).unwrap();
        let recipient = self.run(age_keygen, [OsStr::new("-y"), file.as_os_str()]);
        self.keys
            .push((name, String::from_utf8(recipient).unwrap().trim().to_owned(), private));
    }

    fn ssh(&mut self, ssh_keygen: &Path, name: &'static str, flags: &[&str]) {
        self.run(ssh_keygen, [flags, &["-q", "-N", "", "-C", "", "-f", name]].concat());
        let recipient = fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap();
        self.keys
            .push((name, recipient.trim().to_owned(), fs::read(self.path(name)).unwrap()));
    }

    fn pgp(&mut self, gpg: &Path, name: &'static str, [signs, encrypts]: [&str; 2]) {
        let quiet = ["--batch", "--quiet", "--passphrase", ""];
        self.run(
            gpg,
            quiet
                .into_iter()
                .chain(["--quick-gen-key", name, signs, "sign", "never"]),
        );
        let listing = self.run(gpg, ["--batch", "--with-colons", "--list-keys", name]);
        let listing = String::from_utf8(listing).unwrap();
        let line = listing.lines().find(|line| line.starts_with("fpr:")).unwrap();
        let fingerprint = line.split(':').nth(9).unwrap().to_owned();
        self.run(
            gpg,
            quiet
                .into_iter()
                .chain(["--quick-add-key", &fingerprint, encrypts, "encr", "never"]),
        );
        let private = self.run(gpg, ["--batch", "--armor", "--export-secret-keys", &fingerprint]);
        self.keys.push((name, fingerprint, private));
    }

    /// Recipients of a kind, as the value of a flag.
    fn recipients(&self, is_pgp: bool) -> String {
        let keys = self.keys.iter().filter(|(name, ..)| name.starts_with("pgp") == is_pgp);
        keys.map(|(_, recipient, _)| recipient.as_str())
            .collect::<Vec<_>>()
            .join(",")
    }

    fn recipient(&self, wanted: &str) -> &str {
        let key = self.keys.iter().find(|(name, ..)| *name == wanted);
        &key.unwrap_or_else(|| panic!("no key {wanted}")).1
    }

    /// The private keys of these names, read as those of a Secret are.
    fn local(&self, names: &[&str]) -> LocalKeys {
        let mut local = LocalKeys::default();
        for (name, _, private) in self.keys.iter().filter(|(name, ..)| names.contains(name)) {
            if name.starts_with("pgp") {
                local.pgp.import(private).unwrap()
            } else {
                local.age.import(private).unwrap()
            }
        }
        local
    }
}

/// gpg has started an agent for its folder.
impl Drop for World {
    fn drop(&mut self) {
        let gnupg = self.path("gnupg");
        let _ = Command::new("gpgconf")
            .args(["--kill", "all"])
            .env("GNUPGHOME", gnupg)
            .output();
    }
}

const YAML: &str = "# head\napiVersion: v1\nkind: Secret\nmetadata:\n  name: creds\n  # about the data\nstringData:\n  user: app # inline\n  \
     # mark:secret\n  password: p@ss w0rd\n  # mark:plain\n  hint: none of your business\n  empty: \"\"\ntypes:\n  int: 42\n  float: \
     1.5\n  truth: true\n  nothing: null\n  time: 2020-01-02T03:04:05Z\nlist:\n- a\n- 1\n- x: y\nlines: |\n  one\n  two\nb_secret: \
     x\nc_plain: y\nd_unencrypted: z\n---\nsecond: document\n";
const JSON: &str = "{\"stringData\": {\"user\": \"app\", \"password\": \"p@ss w0rd\"}, \"list\": [1, 2.5, true, null, {\"a\": \"é\"}], \
     \"b_secret\": \"x\", \"c_plain\": \"y\", \"d_unencrypted\": {\"e\": \"z\"}}";
const DOTENV: &str = "# head\nUSER=app\n# mark:secret\nPASSWORD=p@ss w0rd\n# mark:plain\nHINT=none\nb_secret=x\nc_plain=y\nd_unencrypted=z\n\
     stringData=1\n";
const INI: &str = "; head\n[stringData]\nuser = app\n; mark:secret\npassword = p@ss w0rd\n; mark:plain\nhint = none\n\n[other]\nb_secret = \
     x\nc_plain = y\nd_unencrypted = z\n";
const BINARY: &str = "any \u{1} bytes\nwith lines";

const FILES: [(&str, Format, &str); 5] = [
    ("yaml", Format::Yaml, YAML),
    ("json", Format::Json, JSON),
    ("env", Format::Dotenv, DOTENV),
    ("ini", Format::Ini, INI),
    ("bin", Format::Binary, BINARY),
];

/// The flags of an option, and its name in the file.
const OPTIONS: [(&[&str], &str); 8] = [
    (&[], "mac"),
    (&["--encrypted-suffix", "_secret"], "encrypted_suffix"),
    (&["--unencrypted-suffix", "_plain"], "unencrypted_suffix"),
    (&["--encrypted-regex", "^(stringData|list|b_.*)$"], "encrypted_regex"),
    (
        &["--unencrypted-regex", "^(kind|apiVersion|metadata|c_.*|HINT)$"],
        "unencrypted_regex",
    ),
    (&["--encrypted-comment-regex", "mark:secret"], "encrypted_comment_regex"),
    (
        &["--unencrypted-comment-regex", "mark:plain"],
        "unencrypted_comment_regex",
    ),
    (
        &["--mac-only-encrypted", "--encrypted-regex", "^(stringData|types)$"],
        "mac_only_encrypted",
    ),
];

#[test]
fn files_of_todays_sops() {
    let Some(world) = World::new() else { return };
    each_format_with_each_option_and_each_key(&world);
    groups_of_keys_give_a_part_each(&world);
    changed_files_and_other_keys_are_refused(&world);
}

fn each_format_with_each_option_and_each_key(world: &World) {
    let names: Vec<&str> = world.keys.iter().map(|(name, ..)| *name).collect();
    let keys: Vec<(&str, LocalKeys)> = names.iter().map(|name| (*name, world.local(&[name]))).collect();
    // JSON and binary files have no comments; a binary file is one value, which only the default rule matches.
    let is_sensible = |ending: &str, option: &str| match ending {
        "json" => !option.contains("comment"),
        "bin" => option == "mac",
        _ => true,
    };
    let all = FILES
        .iter()
        .flat_map(|file| OPTIONS.iter().map(move |option| (file, option)));
    let all: Vec<_> = all
        .filter(|((ending, ..), (_, option))| is_sensible(ending, option))
        .collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(((ending, format, text), (flags, option))) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = format!("{option}.{ending}");
            let encrypted = encrypted(world, &name, text, flags);
            let shown = String::from_utf8_lossy(&encrypted);
            assert!(shown.contains(option) && shown.contains("ENC["), "{name}: {shown}");
            let plain = world.run(&world.sops, ["decrypt", &name]);
            assert!(String::from_utf8_lossy(&plain).contains(if *ending == "bin" { "bytes" } else { "p@ss w0rd" }));
            for (key, local) in &keys {
                let ours = decrypt(&encrypted, *format, *format, local, Integrity::Checked);
                let ours = ours.unwrap_or_else(|error| panic!("{name} with {key}: {error}"));
                assert_eq!(
                    String::from_utf8_lossy(&ours),
                    String::from_utf8_lossy(&plain),
                    "{name} with {key}"
                );
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    println!(
        "files of today's sops: {} of {}",
        done.into_inner(),
        all.len() * keys.len()
    );
}

/// Encrypts a text in place, for all keys.
fn encrypted(world: &World, name: &str, text: &str, flags: &[&str]) -> Vec<u8> {
    fs::write(world.path(name), text).unwrap();
    let (age, pgp) = (world.recipients(false), world.recipients(true));
    // The command `encrypt` does not have all options.
    let recipients = ["--encrypt", "--age", &age, "--pgp", &pgp];
    world.run(&world.sops, [&recipients, flags, &["--in-place", name]].concat());
    fs::read(world.path(name)).unwrap()
}

fn groups_of_keys_give_a_part_each(world: &World) {
    let groups = format!(
        "creation_rules:\n- shamir_threshold: 2\n  key_groups:\n  - age: [{}]\n  - pgp: [{}]\n  - age: [{}, {}]\n",
        world.recipient("age"),
        world.recipient("pgp-ecc"),
        world.recipient("age hybrid"),
        world.recipient("ssh-ed25519"),
    );
    fs::write(world.path(".sops.yaml"), groups).unwrap();
    fs::write(world.path("groups.yaml"), YAML).unwrap();
    world.run(&world.sops, ["encrypt", "--in-place", "groups.yaml"]);
    let file = fs::read(world.path("groups.yaml")).unwrap();
    let plain = world.run(&world.sops, ["decrypt", "groups.yaml"]);
    let ours = |names: &[&str]| {
        let local = world.local(names);
        let plain = decrypt(&file, Format::Yaml, Format::Yaml, &local, Integrity::Checked);
        plain.map(|plain| plain.to_vec()).map_err(|error| error.to_string())
    };
    for two in [["age", "pgp-ecc"], ["age", "age hybrid"], ["pgp-ecc", "ssh-ed25519"]] {
        assert_eq!(ours(&two).as_deref(), Ok(plain.as_slice()), "{two:?}");
    }
    for too_few in [&["age"][..], &["age hybrid", "ssh-ed25519"], &["pgp-rsa"], &["ssh-rsa"]] {
        // Lines are broken anywhere.
        let said = ours(too_few).unwrap_err();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("Shamir threshold of 2"), "{too_few:?}: {said}");
    }
}

fn changed_files_and_other_keys_are_refused(world: &World) {
    fs::write(world.path("one.yaml"), YAML).unwrap();
    let flags = ["--encrypted-regex", "^stringData$", "--in-place", "one.yaml"];
    world.run(
        &world.sops,
        [
            &[
                "--config",
                "/dev/null",
                "encrypt",
                "--age",
                world.recipient("age hybrid"),
            ],
            &flags[..],
        ]
        .concat(),
    );
    let text = fs::read_to_string(world.path("one.yaml")).unwrap();
    let told = |text: &str, name: &str| {
        let plain = decrypt(
            text.as_bytes(),
            Format::Yaml,
            Format::Yaml,
            &world.local(&[name]),
            Integrity::Checked,
        );
        plain.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(told(&text, "age hybrid"), "");
    assert!(told(&text.replace("name: creds", "name: other"), "age hybrid").ends_with("MAC mismatch"));
    assert!(told(&text.replace("user: ENC[", "name: ENC["), "age hybrid").contains("message authentication failed"));
    for (key, _, _) in world.keys.iter().filter(|(key, ..)| *key != "age hybrid") {
        let said = told(&text, key);
        assert!(said.starts_with("cannot get sops data key: "), "{key}: {said}");
    }
}
