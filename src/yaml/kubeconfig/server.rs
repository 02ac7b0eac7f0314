//! Pure. Which address of a server is spoken to: one that is encrypted, or one of this machine.
//!
//! The host is looked at as it is written; what is no plain name or address is refused, because readers differ in what they make of it.
//!
//! Not here: connecting (`target`).

use core::net::{Ipv4Addr, Ipv6Addr};

use super::KubeRule;

/// Longest address, in bytes; names end at 253.
const MAX_ADDRESS_BYTES: usize = 2_048;

/// Refuses what is no address of a server, or one that would be spoken to in the clear and is not on this machine.
pub(super) fn judge(address: &str) -> Result<(), KubeRule> {
    if address.len() > MAX_ADDRESS_BYTES {
        return Err(KubeRule::Server);
    }
    let (scheme, rest) = address.split_once("://").ok_or(KubeRule::Server)?;
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%:+@!$'()*,;=".contains(&byte);
    if !path.bytes().all(is_plain) || path.split('/').any(|part| part == "..") {
        return Err(KubeRule::Server);
    }
    let host = host(authority).ok_or(KubeRule::Server)?;
    match scheme {
        "https" => Ok(()),
        "http" if is_here(host) => Ok(()),
        "http" => Err(KubeRule::Plain),
        _ => Err(KubeRule::Server),
    }
}

/// Returns the host of an authority that has no user in it, and a port that is one.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (inside, port) = rest.split_once(']')?;
            inside.parse::<Ipv6Addr>().ok()?;
            (authority.get(..inside.len() + 2)?, port)
        }
        None => {
            let end = authority.find(':').unwrap_or(authority.len());
            authority.split_at(end)
        }
    };
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_host = host.starts_with('[') || (!host.is_empty() && host.bytes().all(is_name));
    (is_port && is_host && !port.starts_with(":+")).then_some(host)
}

/// Returns whether a host is this machine.
fn is_here(host: &str) -> bool {
    let inside = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || inside.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_encrypted_server_or_one_of_this_machine_is_spoken_to() {
        for address in [
            "https://api.example.org:6443",
            "https://10.0.0.1",
            "https://[fd00::1]:6443/clusters/home",
            "https://rancher.example.org/k8s/clusters/c-m-1:p",
            "http://localhost:8080",
            "http://127.0.0.1:1",
            "http://127.9.9.9",
            "http://[::1]:80/",
        ] {
            assert_eq!(judge(address), Ok(()), "{address}");
        }
        for address in [
            "http://10.0.0.1:8080",
            "http://example.org",
            "http://localhost.example.org",
            "http://127.0.0.1.nip.io:80",
            "http://127.1",
            "http://2130706433",
            "http://0x7f.0.0.1",
            "http://0.0.0.0",
            "http://[::ffff:127.0.0.1]",
            "http://LOCALHOST",
        ] {
            assert_eq!(judge(address), Err(KubeRule::Plain), "{address}");
        }
        for address in [
            "",
            "api.example.org:6443",
            "unix:///run/x.sock",
            "HTTPS://api.example.org",
            "ftp://localhost",
            "https://",
            "https://a b",
            "https://user:pass@api.example.org",
            "http://127.0.0.1@evil.example.org",
            "http://evil.example.org#@127.0.0.1",
            "http://127.0.0.1\\@evil.example.org",
            "http://127.0.0.1:80:80",
            "http://127.0.0.1:99999",
            "http://127.0.0.1:+80",
            "https://api.example.org/a/../b",
            "https://api.example.org/?token=x",
            "https://api.example.org\nX: y",
            "https://аpi.example.org",
            "https://[::1",
        ] {
            assert_eq!(judge(address), Err(KubeRule::Server), "{address}");
        }
    }
}
