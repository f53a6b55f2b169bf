//! The extensions of a certificate, as far as Go's `crypto/x509` minds what is in them.

use super::{
    der::{self, Reader, context, context_constructed},
    mailbox::is_mailbox,
    oids,
    x509_parse::{is_ia5, wrong},
};
use crate::{
    gostd::{Url, quote_bytes},
    template::Failure,
};
use std::net::IpAddr;

/// An extension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extension<'a> {
    pub oid: &'a [u8],
    pub critical: bool,
    pub value: &'a [u8],
}

const IPV4: usize = 4;
const IPV6: usize = 16;

/// Reads an extension; comes back with the subject's key identifier if it is that.
pub(super) fn check<'a>(extension: &Extension<'a>) -> Result<Option<&'a [u8]>, Failure> {
    let value = Reader(extension.value);
    let formed = |form: Option<()>, what: &str| form.ok_or_else(|| wrong(what));
    match extension.oid {
        oids::KEY_USAGE => formed(Reader(extension.value).bits().map(|_| ()), "invalid key usage")?,
        oids::BASIC_CONSTRAINTS => formed(basic_constraints(value), "invalid basic constraints")?,
        oids::SUBJECT_ALT_NAME => alternative_names(value)?,
        oids::NAME_CONSTRAINTS => name_constraints(value)?,
        oids::CRL_DISTRIBUTION_POINTS => distribution_points(value)?,
        oids::AUTHORITY_KEY_ID => {
            if extension.critical {
                return Err(wrong("authority key identifier incorrectly marked critical"));
            }
            formed(authority_key_id(value), "invalid authority key identifier")?;
        }
        oids::POLICY_CONSTRAINTS => formed(policy_constraints(value), "invalid policy constraints extension")?,
        oids::EXTENDED_KEY_USAGE => formed(key_usages(value), "invalid extended key usages")?,
        oids::SUBJECT_KEY_ID => {
            if extension.critical {
                return Err(wrong("subject key identifier incorrectly marked critical"));
            }
            let id = Reader(extension.value).inside(der::OCTET_STRING);
            return match id {
                Some(id) => Ok(Some(id.0)),
                None => Err(wrong("invalid subject key identifier")),
            };
        }
        oids::CERTIFICATE_POLICIES => formed(policies(value), "invalid certificate policies")?,
        oids::POLICY_MAPPINGS => formed(policy_mappings(value), "invalid policy mappings extension")?,
        oids::INHIBIT_ANY_POLICY => {
            let number = Reader(extension.value).int64(der::INTEGER);
            formed(number.map(|_| ()), "invalid inhibit any policy extension")?;
        }
        oids::AUTHORITY_INFO_ACCESS => {
            if extension.critical {
                return Err(wrong("authority info access incorrectly marked critical"));
            }
            formed(info_access(value), "invalid authority info access")?;
        }
        _ => {}
    }
    Ok(None)
}

fn basic_constraints(mut value: Reader<'_>) -> Option<()> {
    let mut inside = value.inside(der::SEQUENCE)?;
    if inside.peek(der::BOOLEAN) {
        inside.boolean()?;
    }
    if inside.peek(der::INTEGER) {
        inside.int64(der::INTEGER).filter(|&longest| longest >= 0)?;
    }
    Some(())
}

fn alternative_names(mut value: Reader<'_>) -> Result<(), Failure> {
    const EMAIL: der::Tag = context(1);
    const DNS: der::Tag = context(2);
    const URI: der::Tag = context(6);
    const IP: der::Tag = context(7);
    let mut names = value
        .inside(der::SEQUENCE)
        .ok_or_else(|| wrong("invalid subject alternative names"))?;
    while !names.is_empty() {
        let name = names.any().ok_or_else(|| wrong("invalid subject alternative name"))?;
        let ia5 = is_ia5(name.content);
        match name.tag {
            EMAIL if !ia5 => return Err(wrong("SAN rfc822Name is malformed")),
            DNS if !ia5 => return Err(wrong("SAN dNSName is malformed")),
            URI if !ia5 => return Err(wrong("SAN uniformResourceIdentifier is malformed")),
            URI => check_uri(name.content)?,
            IP if !matches!(name.content.len(), IPV4 | IPV6) => {
                let length = name.content.len();
                return Err(wrong(&format!("cannot parse IP address of length {length}")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_uri(text: &[u8]) -> Result<(), Failure> {
    let unfit = |what: &str| Err(wrong(&format!("cannot parse URI {}: {what}", quote_bytes(text))));
    match Url::parse(text) {
        Err(error) => unfit(&error),
        // A leading dot is for constraints alone.
        Ok(url) if !is_domain(&url.host) || url.host.starts_with(b".") => unfit("invalid domain"),
        Ok(_) => Ok(()),
    }
}

fn name_constraints(mut value: Reader<'_>) -> Result<(), Failure> {
    let invalid = || wrong("invalid NameConstraints extension");
    let mut subtrees = || {
        let mut inside = value.inside(der::SEQUENCE)?;
        let permitted = inside.optional(context_constructed(0))?;
        let excluded = inside.optional(context_constructed(1))?;
        (value.is_empty() && inside.is_empty()).then_some([permitted, excluded])
    };
    let subtrees = subtrees().ok_or_else(invalid)?;
    if subtrees.iter().flatten().all(Reader::is_empty) {
        return Err(wrong("empty name constraints extension"));
    }
    for mut subtree in subtrees.into_iter().flatten() {
        while !subtree.is_empty() {
            let base = subtree.inside(der::SEQUENCE).and_then(|mut inside| inside.any());
            let base = base.ok_or_else(invalid)?;
            check_constraint(base.tag, base.content)?;
        }
    }
    Ok(())
}

fn check_constraint(tag: der::Tag, value: &[u8]) -> Result<(), Failure> {
    const EMAIL: der::Tag = context(1);
    const DNS: der::Tag = context(2);
    const URI: der::Tag = context(6);
    const IP: der::Tag = context(7);
    if tag == IP {
        let length = value.len();
        if length != 2 * IPV4 && length != 2 * IPV6 {
            return Err(wrong(&format!("IP constraint contained value of length {length}")));
        }
        let mask = value.get(length / 2..).unwrap_or_default();
        return if is_mask(mask) {
            Ok(())
        } else {
            let mask: String = mask.iter().map(|byte| format!("{byte:02x}")).collect();
            Err(wrong(&format!("IP constraint contained invalid mask {mask}")))
        };
    }
    if !matches!(tag, EMAIL | DNS | URI) {
        return Ok(());
    }
    let quoted = quote_bytes(value);
    if !is_ia5(value) {
        return Err(wrong(&format!(
            "invalid constraint value: x509: {quoted} cannot be encoded as an IA5String"
        )));
    }
    if tag == URI && std::str::from_utf8(value).is_ok_and(|name| name.parse::<IpAddr>().is_ok()) {
        return Err(wrong(&format!(
            "failed to parse URI constraint {quoted}: cannot be IP address"
        )));
    }
    let is_mail = tag == EMAIL && value.contains(&b'@');
    let fine = if is_mail { is_mailbox(value) } else { is_domain(value) };
    if fine {
        return Ok(());
    }
    Err(wrong(&match tag {
        DNS => format!("failed to parse dnsName constraint {quoted}"),
        EMAIL => format!("failed to parse rfc822Name constraint {quoted}"),
        _ => format!("failed to parse URI constraint {quoted}"),
    }))
}

/// Ones, then zeros.
fn is_mask(mask: &[u8]) -> bool {
    let bits = mask
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    bits.skip_while(|&bit| bit == 1).all(|bit| bit == 0)
}

/// Go's `domainNameValid`, of a constraint: that may start with a dot.
fn is_domain(name: &[u8]) -> bool {
    if name.is_empty() {
        return true;
    }
    let labels = name.strip_prefix(b".").unwrap_or(name);
    labels
        .split(|&byte| byte == b'.')
        .all(|label| !label.is_empty() && label.iter().all(u8::is_ascii_graphic))
}

fn distribution_points(mut value: Reader<'_>) -> Result<(), Failure> {
    let mut points = value
        .inside(der::SEQUENCE)
        .ok_or_else(|| wrong("invalid CRL distribution points"))?;
    while !points.is_empty() {
        distribution_point(&mut points).ok_or_else(|| wrong("invalid CRL distribution point"))?;
    }
    Ok(())
}

fn distribution_point(points: &mut Reader<'_>) -> Option<()> {
    let mut point = points.inside(der::SEQUENCE)?;
    let Some(mut name) = point.optional(context_constructed(0))? else {
        return Some(());
    };
    let mut names = name.inside(context_constructed(0))?;
    while names.peek(context(6)) {
        names.inside(context(6))?;
    }
    Some(())
}

fn authority_key_id(mut value: Reader<'_>) -> Option<()> {
    let mut inside = value.inside(der::SEQUENCE)?;
    inside.optional(context(0))?;
    Some(())
}

fn policy_constraints(mut value: Reader<'_>) -> Option<()> {
    let mut inside = value.inside(der::SEQUENCE)?;
    for tag in [context(0), context(1)] {
        if inside.peek(tag) {
            inside.int64(tag)?;
        }
    }
    Some(())
}

fn key_usages(mut value: Reader<'_>) -> Option<()> {
    let mut usages = value.inside(der::SEQUENCE)?;
    while !usages.is_empty() {
        usages.oid()?;
    }
    Some(())
}

fn policies(mut value: Reader<'_>) -> Option<()> {
    let mut policies = value.inside(der::SEQUENCE)?;
    let mut seen = std::collections::HashSet::new();
    while !policies.is_empty() {
        let oid = policies.inside(der::SEQUENCE)?.inside(der::OID)?.0;
        (is_long_oid(oid) && seen.insert(oid)).then_some(())?;
    }
    Some(())
}

/// Policies may have numbers of any size.
fn is_long_oid(content: &[u8]) -> bool {
    let mut at_start = true;
    for byte in content {
        if at_start && *byte == 0x80 {
            return false;
        }
        at_start = byte & 0x80 == 0;
    }
    at_start && !content.is_empty()
}

fn policy_mappings(mut value: Reader<'_>) -> Option<()> {
    let mut mappings = value.inside(der::SEQUENCE)?;
    while !mappings.is_empty() {
        let mut mapping = mappings.inside(der::SEQUENCE)?;
        mapping.inside(der::OID)?;
        mapping.inside(der::OID)?;
    }
    Some(())
}

fn info_access(mut value: Reader<'_>) -> Option<()> {
    let mut descriptions = value.inside(der::SEQUENCE)?;
    while !descriptions.is_empty() {
        let mut description = descriptions.inside(der::SEQUENCE)?;
        description.oid()?;
        description.optional(context(6))?;
    }
    Some(())
}
