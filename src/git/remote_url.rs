//! Addresses of remotes: parsed once, so that no text of a stranger becomes an option, a command or a second host.
//!
//! Not here: where the host's name leads (`address.rs`).

use std::fmt;
use std::path::Path;

/// Where a URL comes from, which decides what it may name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowed {
    /// Anywhere: `https` and `ssh` only.
    Network,
    /// Written out in the daemon's own configuration: `http`, `file` and local paths as well.
    Local,
}

/// A checked address of a remote repository.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteUrl {
    text: String,
    scheme: Scheme,
    host: String,
    port: Option<u16>,
    path: String,
}

/// How a remote is reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Scheme {
    Https,
    Http,
    Ssh,
    File,
}

/// Why a text is no address of a remote. It does not hold the text, which may carry a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the URL of a remote is refused ({rule}): {reason}")]
pub struct UrlError {
    /// The rule, such as `url/scheme`.
    pub rule: &'static str,
    /// What the rule says.
    pub reason: &'static str,
}

/// Characters that a shell, a config file or a terminal would read as more than themselves.
const REFUSED: [char; 15] = ['\\', '"', '\'', '$', '`', ';', '&', '<', '>', '*', '?', '#', '~', '|', '%'];
/// Longest URL in bytes.
const MAX_URL_BYTES: usize = 2_048;

impl RemoteUrl {
    /// Parses `https://host[:port]/path`, `ssh://[user@]host[:port]/path` or `user@host:path`; with [`Allowed::Local`]
    /// `http`, `file` and absolute paths too.
    pub fn parse(text: &str, allowed: Allowed) -> Result<Self, UrlError> {
        if text.is_empty() || text.len() > MAX_URL_BYTES {
            return refuse("url/bytes", "it is empty or longer than 2,048 bytes");
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return refuse("url/bytes", "it holds white space or a control character");
        }
        if allowed == Allowed::Local
            && let Some(path) = text.strip_prefix("file://").or_else(|| text.starts_with('/').then_some(text))
        {
            return local(path);
        }
        if text.chars().any(|c| REFUSED.contains(&c)) {
            return refuse("url/bytes", "it holds a character that is no part of a plain address");
        }
        if let Some(rest) = text.strip_prefix("https://") {
            return network(Scheme::Https, rest);
        }
        if let Some(rest) = text.strip_prefix("ssh://") {
            return network(Scheme::Ssh, rest);
        }
        match (text.strip_prefix("http://"), allowed) {
            (Some(rest), Allowed::Local) => network(Scheme::Http, rest),
            (Some(_), Allowed::Network) => refuse("url/scheme", "http is taken from the daemon's configuration only"),
            (None, _) if text.contains("://") || text.contains("::") => {
                refuse("url/scheme", "only https and ssh are taken")
            }
            (None, _) => short_form(text),
        }
    }

    /// Returns the address as git takes it; it never holds a password.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether this is `origin` or lies below it: same scheme, host and port, and whole segments of the path.
    pub fn is_under(&self, origin: &Self) -> bool {
        let same_place = (self.scheme, &self.host, self.port) == (origin.scheme, &origin.host, origin.port);
        let rest = self.path.strip_prefix(origin.path.trim_end_matches('/'));
        same_place && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    pub(super) fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns host and port, or nothing for a local path.
    pub(super) fn host(&self) -> Option<(&str, u16)> {
        let usual = match self.scheme {
            Scheme::Https => 443,
            Scheme::Http => 80,
            Scheme::Ssh => 22,
            Scheme::File => return None,
        };
        Some((&self.host, self.port.unwrap_or(usual)))
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn refuse<T>(rule: &'static str, reason: &'static str) -> Result<T, UrlError> {
    Err(UrlError { rule, reason })
}

fn local(path: &str) -> Result<RemoteUrl, UrlError> {
    if !path.starts_with('/') || Path::new(path).components().any(|part| part == std::path::Component::ParentDir) {
        return refuse("url/path", "a local path must be absolute and without ..");
    }
    Ok(RemoteUrl {
        text: path.to_owned(),
        scheme: Scheme::File,
        host: String::new(),
        port: None,
        path: path.to_owned(),
    })
}

/// Rewrites `user@host:path` as an ssh URL.
fn short_form(text: &str) -> Result<RemoteUrl, UrlError> {
    match text.split_once(':') {
        Some((host, path)) if host.contains('@') && !host.contains('/') => {
            network(Scheme::Ssh, &format!("{host}/{}", path.trim_start_matches('/')))
        }
        Some(_) | None => refuse("url/scheme", "only https and ssh are taken"),
    }
}

fn network(scheme: Scheme, rest: &str) -> Result<RemoteUrl, UrlError> {
    let Some((authority, path)) = rest.split_once('/') else { return refuse("url/path", "it names no repository") };
    let (user, host) = match (authority.rsplit_once('@'), scheme) {
        (None, _) => (None, authority),
        (Some((user, host)), Scheme::Ssh) if !user.contains(':') => (Some(user), host),
        (Some(_), _) => return refuse("url/userinfo", "it holds a user or password; put it into a credential"),
    };
    let (host, port) = split_port(host)?;
    for part in user.into_iter().chain([host]).chain(path.split('/')) {
        if part.starts_with('-') {
            return refuse("url/dash", "a part starts with a dash and could pass for an option");
        }
        if part == ".." || part == "." {
            return refuse("url/path", "its path holds . or ..");
        }
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_address = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || !(is_address || host.chars().all(plain)) || !user.unwrap_or("x").chars().all(plain) {
        return refuse("url/host", "its host or user is empty or not plain ASCII");
    }
    if path.trim_matches('/').is_empty() {
        return refuse("url/path", "it names no repository");
    }
    let host = host.to_ascii_lowercase();
    let name = match scheme {
        Scheme::Https => "https",
        Scheme::Http => "http",
        Scheme::Ssh => "ssh",
        Scheme::File => "file",
    };
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let shown_port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let text = format!("{name}://{user}{host}{shown_port}/{path}");
    Ok(RemoteUrl { text, scheme, host, port, path: format!("/{path}") })
}

fn split_port(host: &str) -> Result<(&str, Option<u16>), UrlError> {
    let after_address = host.rfind(']').unwrap_or(0);
    match host.rfind(':').filter(|at| *at > after_address || !host.starts_with('[')) {
        None => Ok((host, None)),
        Some(_) => match host.rsplit_once(':').map(|(name, port)| (name, port.parse::<u16>())) {
            Some((name, Ok(port))) if port != 0 => Ok((name, Some(port))),
            Some(_) | None => refuse("url/host", "its port is no number"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, allowed: Allowed, expected: &str) {
        let found = match RemoteUrl::parse(text, allowed) {
            Ok(url) => url.as_str().to_owned(),
            Err(error) => error.rule.to_owned(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn plain_addresses_are_taken() {
        use Allowed::{Local, Network};
        check("https://git.example/org/repo.git", Network, "https://git.example/org/repo.git");
        check("https://Git.Example:8443/a", Network, "https://git.example:8443/a");
        check("ssh://git@git.example:2222/a/b", Network, "ssh://git@git.example:2222/a/b");
        check("git@git.example:org/repo", Network, "ssh://git@git.example/org/repo");
        check("https://[2001:db8::1]:444/a", Network, "https://[2001:db8::1]:444/a");
        check("http://127.0.0.1:3000/a", Local, "http://127.0.0.1:3000/a");
        check("/srv/directory", Local, "/srv/directory");
        check("file:///srv/directory", Local, "/srv/directory");
    }

    #[test]
    fn other_schemes_and_local_paths_are_refused() {
        use Allowed::{Local, Network};
        for text in ["http://git.example/a", "file:///srv/a", "/srv/a", "ext::sh -c x", "ext::sh", "git://a/b", "a"] {
            assert!(RemoteUrl::parse(text, Network).is_err(), "{text}");
        }
        check("ftp://a/b", Local, "url/scheme");
        check("../a", Local, "url/scheme");
        check("/srv/../etc", Local, "url/path");
    }

    #[test]
    fn text_that_is_more_than_an_address_is_refused() {
        use Allowed::Network;
        check("https://user:token@git.example/a", Network, "url/userinfo");
        check("https://token@git.example/a", Network, "url/userinfo");
        check("ssh://git:pass@git.example/a", Network, "url/userinfo");
        check("ssh://-oProxyCommand=x/a", Network, "url/dash");
        check("ssh://git@-x/a", Network, "url/dash");
        check("https://git.example/--upload-pack=x", Network, "url/dash");
        check("https://git.example/a/../b", Network, "url/path");
        check("https://git.example/", Network, "url/path");
        check("https://git.example", Network, "url/path");
        check("https://g\u{456}t.example/a", Network, "url/host");
        check("https://git.example:x/a", Network, "url/host");
        for text in
            ["https://a/b c", "https://a/b\nc", "https://a/$(x)", "https://a/b'c", "https://a/b?c", "https://a/~x"]
        {
            check(text, Network, "url/bytes");
        }
    }

    #[test]
    fn an_origin_covers_whole_segments_of_the_same_host_only() {
        let parse = |text| RemoteUrl::parse(text, Allowed::Local).unwrap();
        let origin = parse("https://git.example/org");
        assert!(parse("https://git.example/org/repo").is_under(&origin));
        assert!(parse("https://git.example/org").is_under(&origin));
        for other in ["https://git.example/organ", "https://git.example:444/org", "http://git.example/org/repo"] {
            assert!(!parse(other).is_under(&origin), "{other}");
        }
        assert!(!parse("https://evil.example/org/repo").is_under(&origin));
    }
}
