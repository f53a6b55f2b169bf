//! Object identifiers of keys and certificates, as they are encoded.

/// `rsaEncryption`
pub(super) const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
/// `sha256WithRSAEncryption`
pub(super) const SHA256_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
/// `id-dsa`
pub(super) const DSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x38, 4, 1];
/// `id-ecPublicKey`
pub(super) const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
/// `ecdsa-with-SHA256`
pub(super) const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
/// `ecdsa-with-SHA384`
pub(super) const ECDSA_WITH_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
/// `ecdsa-with-SHA512`
pub(super) const ECDSA_WITH_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4];
/// `secp256r1`
pub(super) const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
/// `secp384r1`
pub(super) const P384: &[u8] = &[0x2b, 0x81, 4, 0, 0x22];
/// `secp521r1`
pub(super) const P521: &[u8] = &[0x2b, 0x81, 4, 0, 0x23];
/// `id-Ed25519`
pub(super) const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// `id-X25519`
pub(super) const X25519: &[u8] = &[0x2b, 0x65, 0x6e];

/// `id-at-commonName`
pub(super) const COMMON_NAME: &[u8] = &[0x55, 4, 3];
/// `id-ce-subjectKeyIdentifier`
pub(super) const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1d, 14];
/// `id-ce-keyUsage`
pub(super) const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
/// `id-ce-subjectAltName`
pub(super) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
/// `id-ce-basicConstraints`
pub(super) const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
/// `id-ce-nameConstraints`
pub(super) const NAME_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 30];
/// `id-ce-cRLDistributionPoints`
pub(super) const CRL_DISTRIBUTION_POINTS: &[u8] = &[0x55, 0x1d, 31];
/// `id-ce-certificatePolicies`
pub(super) const CERTIFICATE_POLICIES: &[u8] = &[0x55, 0x1d, 32];
/// `id-ce-policyMappings`
pub(super) const POLICY_MAPPINGS: &[u8] = &[0x55, 0x1d, 33];
/// `id-ce-authorityKeyIdentifier`
pub(super) const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 35];
/// `id-ce-policyConstraints`
pub(super) const POLICY_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 36];
/// `id-ce-extKeyUsage`
pub(super) const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
/// `id-ce-inhibitAnyPolicy`
pub(super) const INHIBIT_ANY_POLICY: &[u8] = &[0x55, 0x1d, 54];
/// `id-pe-authorityInfoAccess`
pub(super) const AUTHORITY_INFO_ACCESS: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 1];
/// `id-kp-serverAuth`
pub(super) const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
/// `id-kp-clientAuth`
pub(super) const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
