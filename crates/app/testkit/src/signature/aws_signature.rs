//! AWS' signature, version 4: verified on received requests, and put on those of a test (IAM User Guide, *Create a
//! signed AWS API request*).

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::signature::digests::hex;

use crate::server::http_server::Request;

/// A key, with region and service.
#[derive(Clone, Copy, Debug)]
pub struct AwsKey<'k> {
    pub id: &'k str,
    pub secret: &'k str,
    pub region: &'k str,
    pub service: &'k str,
}

impl AwsKey<'_> {
    /// Checks whether this key signed a request. The body's hash counts where no header has one.
    pub fn check(&self, request: &Request) -> Result<(), String> {
        let header = |name: &str| request.header(name).ok_or_else(|| format!("no {name}"));
        let authorization = header("authorization")?;
        let part = |name: &str| {
            authorization
                .split(name)
                .nth(1)
                .and_then(|rest| rest.split(", ").next())
        };
        let names = part("SignedHeaders=").ok_or("no SignedHeaders")?;
        let hash = request.header("x-amz-content-sha256");
        let wanted = ["host", "x-amz-date"]
            .into_iter()
            .chain(hash.map(|_| "x-amz-content-sha256"));
        for name in wanted {
            if !names.split(';').any(|signed| signed == name) {
                return Err(format!("{name} is not signed"));
            }
        }
        let (credential, signature) = self.signature(request, names)?;
        let expected = (Some(credential), Some(signature));
        let got = (
            part("Credential=").map(str::to_owned),
            part("Signature=").map(str::to_owned),
        );
        if got == expected {
            Ok(())
        } else {
            Err(format!("{got:?} instead of {expected:?}"))
        }
    }

    /// Signs all headers of a request, of which one is `host`. `date` is as in `20260102T030405Z`.
    pub fn sign(&self, request: &mut Request, date: &str) {
        let hash = hex(&Sha256::digest(&request.body));
        for (name, value) in [("x-amz-date", date), ("x-amz-content-sha256", &hash)] {
            request.headers.insert(name.to_owned(), value.to_owned());
        }
        let names: Vec<&str> = request.headers.keys().map(String::as_str).collect();
        let names = names.join(";");
        let (credential, signature) = self.signature(request, &names).unwrap();
        let authorization =
            format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}");
        request.headers.insert("authorization".to_owned(), authorization);
    }

    /// The credential and the signature of a request with these signed headers.
    fn signature(&self, request: &Request, names: &str) -> Result<(String, String), String> {
        let header = |name: &str| request.header(name).ok_or_else(|| format!("no {name}"));
        let date = header("x-amz-date")?;
        let scope = format!("{}/{}/{}/aws4_request", &date[..8], self.region, self.service);
        let mut headers = String::new();
        for name in names.split(';') {
            headers.push_str(&format!("{name}:{}\n", header(name)?));
        }
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let mut pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
        pairs.sort_unstable();
        let hash = request.header("x-amz-content-sha256");
        let canonical = format!(
            "{}\n{path}\n{}\n{headers}\n{names}\n{}",
            request.method,
            pairs.join("&"),
            hash.map_or_else(|| hex(&Sha256::digest(&request.body)), str::to_owned)
        );
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
        let first = format!("AWS4{}", self.secret).into_bytes();
        let key = scope.split('/').fold(first, |key, part| hmac(&key, part));
        Ok((format!("{}/{scope}", self.id), hex(&hmac(&key, &to_sign))))
    }
}

impl AwsKey<'_> {
    /// Checks whether this key presigned an address for a request with these headers (lower case, in order, without
    /// `host`) (IAM User Guide, *Query parameters*).
    pub fn check_presigned(&self, address: &str, headers: &[(&str, &str)]) -> Result<(), String> {
        let (unsigned, signature) = address.rsplit_once("&X-Amz-Signature=").ok_or("no signature")?;
        let url = url::Url::parse(unsigned).map_err(|error| error.to_string())?;
        let parameter = |wanted: &str| {
            let found = url.query_pairs().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.into_owned()).ok_or(format!("no {wanted}"))
        };
        let date = parameter("X-Amz-Date")?;
        let scope = format!("{}/{}/{}/aws4_request", &date[..8], self.region, self.service);
        let names: Vec<&str> = ["host"]
            .into_iter()
            .chain(headers.iter().map(|(name, _)| *name))
            .collect();
        let wanted = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256".to_owned()),
            ("X-Amz-Credential", format!("{}/{scope}", self.id)),
            ("X-Amz-SignedHeaders", names.join(";")),
        ];
        for (name, value) in wanted {
            let got = parameter(name)?;
            if got != value {
                return Err(format!("{name} is {got} instead of {value}"));
            }
        }
        let mut pairs: Vec<&str> = url.query().unwrap_or_default().split('&').collect();
        pairs.sort_unstable();
        let mut lines = format!("host:{}\n", url.host_str().unwrap_or_default());
        headers
            .iter()
            .for_each(|(name, value)| lines.push_str(&format!("{name}:{value}\n")));
        let canonical = format!(
            "GET\n{}\n{}\n{lines}\n{}\n{}",
            url.path(),
            pairs.join("&"),
            names.join(";"),
            hex(&Sha256::digest(""))
        );
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
        let first = format!("AWS4{}", self.secret).into_bytes();
        let key = scope.split('/').fold(first, |key, part| hmac(&key, part));
        if hex(&hmac(&key, &to_sign)) == signature {
            Ok(())
        } else {
            Err("the signature is another".to_owned())
        }
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(text);
    mac.finalize().into_bytes().to_vec()
}
