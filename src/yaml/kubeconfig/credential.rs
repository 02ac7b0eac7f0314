//! Pure. What a field of a kubeconfig must be like to be of use: what is sent in a header fits in one, what vouches for a server is a certificate.
//!
//! Tools differ in what they make of a token with a line break: some panic, some send half of it. None of them reaches a server by it.
//!
//! Not here: what a context may lead to (`mod.rs`), whether a server believes it (`target`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::KubeRule;

/// Longest text that is sent in a header, in bytes: API servers take 1 MiB of headers in all, and the longest tokens have 16 KiB.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Longest name of a server, in bytes, as DNS has them.
const MAX_NAME_BYTES: usize = 253;
/// The mark of a certificate in PEM.
const CERTIFICATE: &str = "CERTIFICATE";
/// The marks of private keys that need no password.
const KEYS: [&str; 3] = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"];

/// Refuses a field whose text cannot be used. What it says is none of the reasons.
pub(super) fn judge(field: &str, text: &str) -> Result<(), KubeRule> {
    match field {
        "token" => fits(text, |c| c.is_ascii_graphic()),
        // Both are sent in base64.
        "username" | "password" => fits(text, |c| !c.is_control()),
        "as" | "as-groups" if text.trim() != text => Err(KubeRule::Header),
        "as" | "as-groups" => fits(text, |c| c.is_ascii_graphic() || c == ' '),
        "tls-server-name" if is_name(text) => Ok(()),
        "tls-server-name" => Err(KubeRule::Name),
        "certificate-authority-data" | "client-certificate-data" => holds(text, &[CERTIFICATE], KubeRule::Certificate),
        "client-key-data" => holds(text, &KEYS, KubeRule::Key),
        _ => Ok(()),
    }
}

/// Refuses what no header takes.
fn fits(text: &str, is_of_it: fn(char) -> bool) -> Result<(), KubeRule> {
    let is_fit = (1..=MAX_HEADER_BYTES).contains(&text.len()) && text.chars().all(is_of_it);
    if is_fit { Ok(()) } else { Err(KubeRule::Header) }
}

fn is_name(text: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_of_name);
    let is_dns = text.len() <= MAX_NAME_BYTES && text.trim_end_matches('.').split('.').all(is_label);
    is_dns || text.parse::<core::net::IpAddr>().is_ok()
}

/// Refuses base64 that holds no block of PEM with one of these marks, or a broken one.
fn holds(text: &str, marks: &[&str], rule: KubeRule) -> Result<(), KubeRule> {
    let bytes = STANDARD.decode(text).map_err(|_| KubeRule::Encoding)?;
    let text = String::from_utf8_lossy(&bytes);
    let blocks: Vec<&str> = marks.iter().flat_map(|mark| blocks(&text, mark)).collect();
    if !blocks.is_empty() && blocks.iter().all(|block| is_sequence(block)) { Ok(()) } else { Err(rule) }
}

/// Returns what stands between the marks of the blocks of one sort.
fn blocks<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
    let (begin, end) = (format!("-----BEGIN {mark}-----"), format!("-----END {mark}-----"));
    let behind = text.split(begin.as_str()).skip(1);
    behind.map(|block| block.split_once(end.as_str()).map_or("", |(inside, _)| inside)).collect()
}

/// Returns whether the body of a block is one sequence of DER, as certificates and keys are.
fn is_sequence(block: &str) -> bool {
    let body: String = block.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let Ok(bytes) = STANDARD.decode(body) else { return false };
    let Some((0x30, rest)) = bytes.split_first().map(|(tag, rest)| (*tag, rest)) else { return false };
    match rest.split_first() {
        Some((length, inside)) if *length < 0x80 => inside.len() == usize::from(*length),
        Some((count, inside)) => {
            let count = usize::from(*count & 0x7F);
            let Some((length, inside)) = inside.split_at_checked(count).filter(|_| (1..=4).contains(&count)) else {
                return false;
            };
            inside.len() == length.iter().fold(0, |sum, byte| sum * 256 + usize::from(*byte))
        }
        None => false,
    }
}
