//! One recorded case: its chart and arguments, rendered and compared.

use super::decisive::decisive;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bumpwright_helm::{
    Capabilities, Chart, ChartError, File, HelmError, IgnoreRules, Override, Overrides, Release, Selection, Settings,
    merge_values, name_of_template, render,
};
use bumpwright_template::World;
use serde_json::Value;
use std::{collections::BTreeMap, io::Write as _};

/// A clock and random bytes that are always the same.
struct Fixed;

impl World for Fixed {
    fn now(&self) -> (i64, u32) {
        (1_700_000_000, 0)
    }

    fn random(&self, buffer: &mut [u8]) {
        for (index, byte) in buffer.iter_mut().enumerate() {
            *byte = u8::try_from(index * 37 % 251).unwrap();
        }
    }
}

/// What differs from Helm; nothing when the case passes.
pub(super) fn run(row: &Value) -> Option<String> {
    let wanted = &row["helm4"];
    let (code, out) = (wanted["code"].as_i64().unwrap(), wanted["out"].as_str().unwrap());
    let err = wanted["err"].as_str().unwrap();
    let rendered = std::panic::catch_unwind(|| rendered(row)).unwrap_or_else(|_| Err("panic".to_owned()));
    match (code, rendered) {
        (0, Ok(text)) if text == out => None,
        (0, Ok(text)) => Some(difference(out, &text)),
        (0, Err(error)) => Some(format!("fails: {error}")),
        (_, Ok(_)) => Some(format!("does not fail: {err}")),
        (_, Err(error)) => {
            let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let said = squeeze(&error);
            let missing: Vec<String> = decisive(err)
                .into_iter()
                .filter(|part| !said.contains(&squeeze(part)))
                .collect();
            (!missing.is_empty()).then(|| format!("expected {missing:#?}\ngot {error}"))
        }
    }
}

fn difference(wanted: &str, got: &str) -> String {
    let mut lines = wanted.lines().zip(got.lines()).enumerate();
    match lines.find(|(_, (wanted, got))| wanted != got) {
        Some((line, (wanted, got))) => format!("line {}\n- {wanted}\n+ {got}", line + 1),
        None => format!("expected {} bytes, got {}: {got:?}", wanted.len(), got.len()),
    }
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// What the arguments say.
#[derive(Default)]
struct Arguments {
    overrides: Overrides,
    selection: Selection,
    settings: Settings,
    capabilities: Capabilities,
    is_upgrade: bool,
    name_template: Option<String>,
    namespace: Option<String>,
}

fn rendered(row: &Value) -> Result<String, String> {
    let side = |name: &str| row["side"][name.strip_prefix("side/").unwrap_or(name)].as_str();
    let mut arguments = arguments(row)?;
    for (index, text) in strings(&row["values"]).into_iter().enumerate() {
        arguments
            .overrides
            .files
            .insert(index, (format!("v{index}.yaml"), text.into_bytes()));
    }
    let name = match (row["release"].as_str(), &arguments.name_template) {
        (Some(_), Some(_)) => return Err("cannot set --name-template and also specify a name".to_owned()),
        (Some(name), None) => name.to_owned(),
        (None, Some(template)) => name_of_template(template, &Fixed).map_err(text)?,
        (None, None) => "release-name".to_owned(),
    };
    let mut read = |name: &str| match side(name) {
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("open {name}: no such file or directory").into()),
    };
    let values = merge_values(&arguments.overrides, &mut read).map_err(text)?;
    let chart = chart(row).map_err(text)?;
    chart.check_installable().map_err(text)?;
    let release = Release {
        name,
        namespace: match (row["namespace"].as_str(), arguments.namespace) {
            (_, Some(namespace)) => namespace,
            (namespace, None) => namespace.unwrap_or("default").to_owned(),
        },
        is_upgrade: arguments.is_upgrade,
    };
    let rendered = render(
        &chart,
        &values,
        &release,
        &arguments.capabilities,
        arguments.settings,
        &Fixed,
    );
    rendered.map_err(text)?.text(&arguments.selection).map_err(text)
}

fn text(error: impl std::error::Error) -> String {
    error.to_string()
}

fn arguments(row: &Value) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    let words = strings(&row["args"]);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (flag, given) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (&**word, None),
        };
        let mut value = || given.clone().or_else(|| words.next().cloned()).unwrap_or_default();
        let set = match flag {
            "--set" => Override::Typed,
            "--set-string" => Override::Text,
            "--set-json" => Override::Json,
            "--set-file" => Override::File,
            "--set-literal" => Override::Literal,
            "-f" | "--values" => {
                let name = value();
                if name == "side" {
                    return Err("read side: is a directory".to_owned());
                }
                let index = name.strip_prefix('v').and_then(|name| name.strip_suffix(".yaml"));
                let index: Option<usize> = index.and_then(|index| index.parse().ok());
                let text = match index {
                    Some(index) => row["values"][index].as_str(),
                    None => row["side"][name.strip_prefix("side/").unwrap_or(&name)].as_str(),
                };
                let text = text.ok_or_else(|| format!("open {name}: no such file or directory"))?;
                arguments.overrides.files.push((name, text.as_bytes().to_vec()));
                continue;
            }
            "--include-crds" => {
                arguments.selection.crds = true;
                continue;
            }
            "--no-hooks" => {
                arguments.selection.no_hooks = true;
                continue;
            }
            "--skip-tests" => {
                arguments.selection.skip_tests = true;
                continue;
            }
            "--is-upgrade" => {
                arguments.is_upgrade = true;
                continue;
            }
            "--skip-schema-validation" => {
                arguments.settings.skip_schemas = true;
                continue;
            }
            "--show-only" | "-s" => {
                arguments.selection.show_only.push(value());
                continue;
            }
            "--namespace" | "-n" => {
                arguments.namespace = Some(value());
                continue;
            }
            "--name-template" => {
                arguments.name_template = Some(value());
                continue;
            }
            "--kube-version" => {
                let more = std::mem::take(&mut arguments.capabilities.api_versions);
                arguments.capabilities = Capabilities {
                    api_versions: more,
                    ..Capabilities::of(&value(), []).map_err(text)?
                };
                continue;
            }
            "--api-versions" | "-a" => {
                let versions = value();
                let versions = versions.split(',').filter(|version| !version.is_empty());
                let versions = versions.map(str::to_owned);
                arguments.capabilities.api_versions.extend(versions);
                continue;
            }
            _ => continue,
        };
        let text = value();
        arguments.overrides.arguments.push(set(text));
    }
    Ok(arguments)
}

/// The chart of a case, its inner archives packed.
fn chart(row: &Value) -> Result<Chart, HelmError> {
    let plain = row["files"].as_object().into_iter().flatten();
    let plain = plain.map(|(path, text)| (path.clone(), text.as_str().unwrap().as_bytes().to_vec()));
    let encoded = row["files_b64"].as_object().into_iter().flatten();
    let encoded = encoded.map(|(path, text)| (path.clone(), BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap()));
    let mut files = BTreeMap::new();
    let mut packed: BTreeMap<String, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
    for (path, data) in plain.chain(encoded) {
        match path.split_once("!/") {
            Some((archive, inner)) => drop(
                packed
                    .entry(archive.to_owned())
                    .or_default()
                    .insert(inner.to_owned(), data),
            ),
            None => drop(files.insert(path, data)),
        }
    }
    files.extend(packed.iter().map(|(path, inner)| (path.clone(), archive(inner))));
    if let Some(folder) = row["pack"].as_str() {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let files = files.into_iter().map(|(path, data)| (format!("{prefix}{path}"), data));
        return Ok(Chart::from_archive(&archive(&files.collect()))?);
    }
    let rules = files.get(".helmignore").map_or(&b""[..], |text| text);
    let rules = IgnoreRules::parse(rules).map_err(ChartError::Ignore)?;
    let is_kept = |path: &str| {
        let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        !folders.into_iter().any(|folder| rules.ignores(folder, true)) && !rules.ignores(path, false)
    };
    let kept = files.into_iter().filter(|(path, _)| is_kept(path));
    Ok(Chart::from_files(
        kept.map(|(name, data)| File { name, data }).collect(),
    )?)
}

fn archive(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut tar = Vec::new();
    for (path, data) in files {
        let mut header = [0_u8; 512];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, path.as_bytes());
        put(100, b"0000644\0");
        put(124, format!("{:011o}\0", data.len()).as_bytes());
        put(136, b"00000000000\0");
        put(148, b"        ");
        put(156, b"0");
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend_from_slice(&header);
        tar.extend_from_slice(data);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar).unwrap();
    gzip.finish().unwrap()
}
