//! Which addresses a remote's name may lead to: public ones, unless the operator allowed the host.
//!
//! Not here: the text of the URL (`remote_url.rs`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use super::error::{Error, io};
use super::remote_url::RemoteUrl;

/// Longest wait for a name server.
const RESOLVE_DEADLINE: Duration = Duration::from_secs(5);

/// Which addresses a remote may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Egress {
    /// Public ones only: a repository must not lead us into the network we run in.
    Public,
    /// Any: the operator wrote the URL or allowed the host.
    Any,
}

/// Resolves the host of a URL once and returns the address to connect to, as git's `http.curloptResolve` wants it.
/// Nothing is returned where any address is fine.
pub(super) async fn pin(url: &RemoteUrl, egress: Egress) -> Result<Option<(IpAddr, String)>, Error> {
    let (Egress::Public, Some((host, port))) = (egress, url.host()) else { return Ok(None) };
    let attempt = || format!("resolve {host}");
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::time::timeout(RESOLVE_DEADLINE, tokio::net::lookup_host((bare, port)))
        .await
        .map_err(|_| Error::Deadline { attempt: attempt(), deadline: RESOLVE_DEADLINE })?
        .map_err(io(attempt()))?;
    let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    let refused = |reason: String| Err(Error::Unusable { attempt: format!("connect to {host}"), reason });
    if let Some(inner) = addresses.iter().find(|address| !is_public(**address)) {
        return refused(format!("it leads to {inner}, which is not public (egress/address)"));
    }
    match addresses.first() {
        Some(address @ IpAddr::V4(v4)) => Ok(Some((*address, format!("{host}:{port}:{v4}")))),
        Some(address @ IpAddr::V6(v6)) => Ok(Some((*address, format!("{host}:{port}:[{v6}]")))),
        None => refused("its name has no address".to_owned()),
    }
}

/// Returns whether an address belongs to the public network.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let special = a == 0 || a >= 224 || (a == 192 && b == 0 && c == 0) || (a == 198 && (18..20).contains(&b));
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || shared
        || special)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => embedded(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, 0xdb8, ..] => false,
        [first, ..] => (first & 0xe000) == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::super::remote_url::Allowed;
    use super::*;

    #[test]
    fn inner_addresses_are_told_from_public_ones_in_every_form() {
        for inner in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "2001:db8::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
        ] {
            assert!(!is_public(inner.parse().unwrap()), "{inner}");
        }
        for public in ["8.8.8.8", "140.82.121.4", "2606:4700::1", "::ffff:8.8.8.8", "64:ff9b::808:808"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_refused_before_any_connection() {
        let url = RemoteUrl::parse("https://localhost/a", Allowed::Network).unwrap();
        let error = pin(&url, Egress::Public).await.unwrap_err();
        assert!(error.to_string().contains("egress/address"), "{error}");
        assert_eq!(pin(&url, Egress::Any).await.unwrap(), None);
    }
}
