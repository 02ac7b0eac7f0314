//! Pure. Credentials that are told by how they begin, whatever they are called, and those of addresses without a scheme.
//!
//! Not here: what is told by a name (`line.rs`), words behind words (`words.rs`).

use super::Part;
use super::line::part;

/// How tokens begin that well-known services give out, and what they are called.
const BEGINS: [&str; 19] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "sk_live_",
    "rk_live_",
    "AGE-SECRET-KEY-1",
    "npm_",
    "hvs.",
    "dckr_pat_",
    "SG.",
    "eyJ",
];
/// How an address begins that is itself the credential.
const ADDRESSES: [&str; 2] = ["https://hooks.slack.com/services/", "https://discord.com/api/webhooks/"];
/// Fewest characters of a token.
const MIN_TOKEN: usize = 20;
/// What stands behind the password of a data source that names no scheme.
const NETWORKS: [&str; 4] = ["@tcp(", "@unix(", "@udp(", "@tcp6("];

/// Returns what of a line is a credential by its looks.
pub(super) fn shapes(line: &str) -> Vec<Part> {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '=');
    let mut parts = Vec::new();
    for begin in BEGINS {
        for (at, _) in line.match_indices(begin) {
            let is_begin =
                line.get(..at).unwrap_or_default().chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
            let rest = line.get(at..).unwrap_or_default();
            let len = rest.find(|c| !is_of_token(c)).unwrap_or(rest.len());
            let token = rest.get(..len).unwrap_or_default();
            // A web token has three parts.
            let is_whole = begin != "eyJ" || token.matches('.').count() == 2;
            if is_begin && is_whole && len >= MIN_TOKEN {
                parts.push(part("token", at..at + len));
            }
        }
    }
    for begin in ADDRESSES {
        for (at, _) in line.match_indices(begin) {
            let start = at + begin.len();
            let rest = line.get(start..).unwrap_or_default();
            let len = rest.find(|c| !is_of_token(c)).unwrap_or(rest.len());
            parts.push(part("address", start..start + len));
        }
    }
    parts.extend(NETWORKS.iter().filter_map(|network| source(line, network)));
    parts
}

/// Returns the password of a data source such as `me:x@tcp(host:3306)/db`.
fn source(line: &str, network: &str) -> Option<Part> {
    let end = line.find(network)?;
    let before = line.get(..end)?;
    let begin = before.rfind(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=')).map_or(0, |at| at + 1);
    let password = before.get(begin..)?.split_once(':')?.1;
    (!password.is_empty()).then(|| part("address", end - password.len()..end))
}
