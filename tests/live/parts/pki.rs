//! Certificates and keys of one control plane.
//!
//! Not here: who uses which file (`control_plane.rs`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// What a client needs to speak as administrator, in PEM.
pub(crate) struct Credentials {
    /// Certificate of the authority.
    pub(crate) authority: String,
    /// The administrator's certificate and key.
    pub(crate) identity: String,
}

/// Writes `ca.{crt,key}`, `server.{crt,key}`, `admin.{crt,key}`, `wild.{crt,key}`, `sa.key` and `sa.pub` into a directory.
pub(crate) fn write(directory: &Path) -> Result<Credentials, String> {
    make(directory).map_err(|error| format!("make certificates in {}: {error}", directory.display()))
}

fn make(directory: &Path) -> Result<Credentials, Box<dyn std::error::Error>> {
    fs::create_dir(directory)?;
    let authority = authority()?;
    let key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&key)?.pem();
    private(directory, "ca.crt", &authority_pem)?;
    private(directory, "ca.key", &key.serialize_pem())?;
    let issuer = Issuer::new(authority, key);

    server(directory, "server", &issuer)?;

    let identity = person(directory, "admin", &issuer)?;
    person(directory, "wild", &issuer)?;

    let accounts = KeyPair::generate()?;
    private(directory, "sa.key", &accounts.serialize_pem())?;
    // The API server refuses a PKCS#8 private key where it wants to verify, so it gets the public one.
    private(directory, "sa.pub", &accounts.public_key_pem())?;
    Ok(Credentials { authority: authority_pem, identity })
}

fn authority() -> Result<CertificateParams, rcgen::Error> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.distinguished_name.push(DnType::CommonName, "rewild-test-ca");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(authority)
}

fn server(directory: &Path, name: &str, issuer: &Issuer<'_, KeyPair>) -> Result<(), Box<dyn std::error::Error>> {
    let names = ["127.0.0.1", "10.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    let mut server = CertificateParams::new(names.map(str::to_owned).to_vec())?;
    server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf(directory, name, &server, issuer)?;
    Ok(())
}

/// Writes `<name>.{crt,key}`, with which a server serves that another authority vouches for, and returns that authority's certificate in PEM.
pub(crate) fn other_server(directory: &Path, name: &str) -> Result<String, Box<dyn std::error::Error>> {
    let (authority, key) = (authority()?, KeyPair::generate()?);
    let pem = authority.self_signed(&key)?.pem();
    server(directory, name, &Issuer::new(authority, key))?;
    Ok(pem)
}

/// Returns certificate and key, in PEM, of somebody who may do everything and is nobody any more after a time.
pub(crate) fn brief(directory: &Path, lasts: Duration) -> Result<[String; 2], Box<dyn std::error::Error>> {
    let key = KeyPair::from_pem(&fs::read_to_string(directory.join("ca.key"))?)?;
    let issuer = Issuer::new(authority()?, key);
    let mut params = client("brief")?;
    params.not_after = (SystemTime::now() + lasts).into();
    let key = KeyPair::generate()?;
    Ok([params.signed_by(&key, &issuer)?.pem(), key.serialize_pem()])
}

/// Writes certificate and key of somebody who may do everything, and returns both.
fn person(directory: &Path, name: &str, issuer: &Issuer<'_, KeyPair>) -> Result<String, Box<dyn std::error::Error>> {
    leaf(directory, name, &client(name)?, issuer)
}

fn client(name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::OrganizationName, "system:masters");
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

fn leaf(
    directory: &Path,
    name: &str,
    params: &CertificateParams,
    issuer: &Issuer<'_, KeyPair>,
) -> Result<String, Box<dyn std::error::Error>> {
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?.pem();
    private(directory, &format!("{name}.crt"), &certificate)?;
    private(directory, &format!("{name}.key"), &key.serialize_pem())?;
    Ok(format!("{certificate}{}", key.serialize_pem()))
}

/// Writes a file that nobody else may read.
pub(crate) fn private(directory: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let path = directory.join(name);
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
}
