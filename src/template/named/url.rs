//! Pure. URLs: their parts, and how they are read and printed.
//!
//! Not here: joining and resolving URLs.

use core::net::Ipv6Addr;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::{Named, text_method};
use crate::template::failure::Failure;
use crate::template::functions::{Function, Parameter, fixed, text_at};
use crate::template::value::{Element, List, Map, Value};

/// A URL taken apart.
#[derive(Clone, Default)]
pub(in crate::template) struct Url {
    scheme: String,
    opaque: String,
    user: Option<(String, Option<String>)>,
    host: String,
    path: String,
    raw_path: String,
    omit_host: bool,
    force_query: bool,
    raw_query: String,
    fragment: String,
    raw_fragment: String,
}

/// Where a text stands, which says what is escaped in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spot {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

const SELF: &[Parameter] = &[Parameter::Any];
const AND_TEXT: &[Parameter] = &[Parameter::Any, Parameter::Text];

/// Methods of URLs.
pub(super) const METHODS: &[Function] = &[
    text_method(),
    fixed("Hostname", &[], SELF, |values, _| Ok(Value::text(at(values)?.host_and_port().0))),
    fixed("Port", &[], SELF, |values, _| Ok(Value::text(at(values)?.host_and_port().1))),
    fixed("IsAbs", &[], SELF, |values, _| Ok(Value::Bool(!at(values)?.scheme.is_empty()))),
    fixed("EscapedPath", &[], SELF, |values, _| Ok(Value::text(at(values)?.escaped_path()))),
    fixed("EscapedFragment", &[], SELF, |values, _| Ok(Value::text(at(values)?.escaped_fragment()))),
    fixed("RequestURI", &[], SELF, |values, _| Ok(Value::text(at(values)?.request_uri()))),
    fixed("Redacted", &[], SELF, |values, _| {
        let mut url = Url::clone(at(values)?);
        if let Some((_, Some(password))) = &mut url.user {
            "xxxxx".clone_into(password);
        }
        Ok(Value::text(url.to_string()))
    }),
    fixed("Query", &[], SELF, |values, budget| {
        let query = at(values)?.query();
        budget.elements(query.len())?;
        Ok(Value::Map(Map::of(Element::Query, query)))
    }),
];

/// Methods of the user of a URL.
pub(super) const USER_METHODS: &[Function] = &[
    text_method(),
    fixed("Username", &[], SELF, |values, _| Ok(Value::text(at(values)?.user.as_ref().map_or("", |user| &user.0)))),
];

/// Methods of a query.
pub(in crate::template) const QUERY: &[Function] = &[
    fixed("Get", &[], AND_TEXT, |values, _| {
        Ok(match values.first() {
            Some(Value::Map(map)) => match map.get(text_at(values, 1)) {
                Some(Value::List(list)) => list.get(0).unwrap_or_else(|| Value::text("")),
                _ => Value::text(""),
            },
            _ => Value::Nil,
        })
    }),
    fixed("Has", &[], AND_TEXT, |values, _| {
        Ok(Value::Bool(matches!(values.first(), Some(Value::Map(map)) if map.get(text_at(values, 1)).is_some())))
    }),
    fixed("Encode", &[], SELF, |values, _| {
        let Some(Value::Map(map)) = values.first() else { return Ok(Value::Nil) };
        let mut pairs = Vec::new();
        for (key, items) in map.entries() {
            let Value::List(items) = items else { continue };
            for item in items.items() {
                let Value::Text(item) = item else { continue };
                pairs.push(format!("{}={}", escape(&key, Spot::Query), escape(&item, Spot::Query)));
            }
        }
        Ok(Value::text(pairs.join("&")))
    }),
];

fn at(values: &[Value]) -> Result<&Rc<Url>, Failure> {
    match values.first() {
        Some(Value::Named(Named::Url(url) | Named::User(url))) => Ok(url),
        _ => Err(Failure::argument("wants a URL")),
    }
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text = format!("{}:", self.scheme);
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(&mut text);
        } else {
            text.push_str(&self.opaque);
        }
        if self.force_query || !self.raw_query.is_empty() {
            text.push('?');
            text.push_str(&self.raw_query);
        }
        if !self.fragment.is_empty() {
            text.push('#');
            text.push_str(&self.escaped_fragment());
        }
        out.write_str(&text)
    }
}

impl Url {
    /// Reads a URL.
    pub(in crate::template) fn parse(text: &str) -> Result<Rc<Self>, Failure> {
        let wrong = || Failure::call("the text is no URL");
        let (main, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::parse_main(main).ok_or_else(wrong)?;
        if !fragment.is_empty() {
            url.fragment = unescape(fragment, Spot::Fragment).ok_or_else(wrong)?;
            if escape(&url.fragment, Spot::Fragment) != fragment {
                fragment.clone_into(&mut url.raw_fragment);
            }
        }
        Ok(Rc::new(url))
    }

    fn parse_main(text: &str) -> Option<Self> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return None;
        }
        if text == "*" {
            return Some(Self { path: "*".to_owned(), ..Self::default() });
        }
        let (scheme, rest) = split_scheme(text)?;
        let mut url = Self { scheme: scheme.to_ascii_lowercase(), ..Self::default() };
        let mut rest = rest;
        if rest.ends_with('?') && rest.matches('?').count() == 1 {
            url.force_query = true;
            rest = rest.strip_suffix('?')?;
        } else if let Some((before, query)) = rest.split_once('?') {
            query.clone_into(&mut url.raw_query);
            rest = before;
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Some(url);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return None;
            }
        }
        let may_have_host = !url.scheme.is_empty() || !rest.starts_with("///");
        if let Some(authority) = rest.strip_prefix("//").filter(|_| may_have_host) {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, path) = authority.split_at_checked(end)?;
            url.take_authority(authority)?;
            rest = path;
        } else if !url.scheme.is_empty() && rest.starts_with('/') {
            url.omit_host = true;
        }
        url.path = unescape(rest, Spot::Path)?;
        if escape(&url.path, Spot::Path) != rest {
            rest.clone_into(&mut url.raw_path);
        }
        Some(url)
    }

    fn take_authority(&mut self, authority: &str) -> Option<()> {
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        self.host = parse_host(&self.scheme, host)?;
        if let Some(user) = user {
            if !user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte)) {
                return None;
            }
            let (name, password) = match user.split_once(':') {
                Some((name, password)) => (name, Some(unescape(password, Spot::User)?)),
                None => (user, None),
            };
            self.user = Some((unescape(name, Spot::User)?, password));
        }
        Some(())
    }

    fn write_hierarchy(&self, text: &mut String) {
        let has_user = self.user.is_some();
        let hidden = self.omit_host && self.host.is_empty() && !has_user;
        if (!self.scheme.is_empty() || !self.host.is_empty() || has_user) && !hidden {
            if !self.host.is_empty() || !self.path.is_empty() || has_user {
                text.push_str("//");
            }
            if has_user {
                text.push_str(&self.user_text());
                text.push('@');
            }
            text.push_str(&escape(&self.host, Spot::Host));
        }
        let path = self.escaped_path();
        if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
            text.push('/');
        }
        if text.is_empty() && path.split('/').next().is_some_and(|segment| segment.contains(':')) {
            text.push_str("./");
        }
        text.push_str(&path);
    }

    /// Returns the user as it stands in the URL.
    pub(in crate::template) fn user_text(&self) -> String {
        match &self.user {
            Some((name, Some(password))) => {
                format!("{}:{}", escape(name, Spot::User), escape(password, Spot::User))
            }
            Some((name, None)) => escape(name, Spot::User),
            None => String::new(),
        }
    }

    fn escaped_path(&self) -> String {
        if self.path == "*" { "*".to_owned() } else { escaped(&self.path, &self.raw_path, Spot::Path) }
    }

    fn escaped_fragment(&self) -> String {
        escaped(&self.fragment, &self.raw_fragment, Spot::Fragment)
    }

    fn request_uri(&self) -> String {
        let mut text = if self.opaque.is_empty() {
            let path = self.escaped_path();
            if path.is_empty() { "/".to_owned() } else { path }
        } else if self.opaque.starts_with("//") {
            format!("{}:{}", self.scheme, self.opaque)
        } else {
            self.opaque.clone()
        };
        if self.force_query || !self.raw_query.is_empty() {
            text.push('?');
            text.push_str(&self.raw_query);
        }
        text
    }

    fn host_and_port(&self) -> (&str, &str) {
        let (host, port) = match self.host.rfind(':').and_then(|at| self.host.split_at_checked(at)) {
            Some((host, port)) if is_port(port) => (host, port.strip_prefix(':').unwrap_or("")),
            _ => (self.host.as_str(), ""),
        };
        (host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host), port)
    }

    fn query(&self) -> BTreeMap<Rc<str>, Value> {
        let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for pair in self.raw_query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if let (Some(key), Some(value)) = (unescape(key, Spot::Query), unescape(value, Spot::Query)) {
                found.entry(key).or_default().push(Value::text(value));
            }
        }
        found.into_iter().map(|(key, items)| (Rc::from(key), Value::List(List::of(Element::Text, items)))).collect()
    }

    /// Returns a field.
    pub(super) fn field(self: &Rc<Self>, name: &str) -> Option<Value> {
        let text = |text: &str| Some(Value::text(text));
        match name {
            "Scheme" => text(&self.scheme),
            "Opaque" => text(&self.opaque),
            "Host" => text(&self.host),
            "Path" => text(&self.path),
            "RawPath" => text(&self.raw_path),
            "RawQuery" => text(&self.raw_query),
            "Fragment" => text(&self.fragment),
            "RawFragment" => text(&self.raw_fragment),
            "OmitHost" => Some(Value::Bool(self.omit_host)),
            "ForceQuery" => Some(Value::Bool(self.force_query)),
            "User" => Some(if self.user.is_some() { Value::Named(Named::User(Rc::clone(self))) } else { Value::Nil }),
            _ => None,
        }
    }
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return None,
            ':' => return Some((text.get(..at)?, text.get(at + 1..)?)),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn parse_host(scheme: &str, host: &str) -> Option<String> {
    match host.rfind('[') {
        Some(0) => {
            let (name, port) = host.rsplit_once(']')?;
            let name = name.strip_prefix('[')?;
            if !port.is_empty() && !is_port(port) {
                return None;
            }
            let (address, zone) = match name.find("%25").and_then(|at| name.split_at_checked(at)) {
                Some((address, zone)) => (address, unescape(zone, Spot::Zone)?),
                None => (name, String::new()),
            };
            let address = unescape(address, Spot::Host)?;
            // An address may carry its zone behind a percent sign, but not an empty one.
            if address.parse::<Ipv6Addr>().is_err() || zone == "%" {
                return None;
            }
            return Some(format!("[{address}{zone}]{port}"));
        }
        Some(_) => return None,
        None => {}
    }
    let strict = matches!(scheme, "http" | "https");
    let colon = if strict { host.find(':') } else { host.rfind(':') };
    if let Some(at) = colon
        && !is_port(host.get(at..)?)
    {
        return None;
    }
    unescape(host, Spot::Host)
}

/// Returns whether a byte is written as it is.
fn is_plain(byte: u8, spot: Spot) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    match spot {
        Spot::Path => b"$&+,/:;=@".contains(&byte),
        Spot::Host | Spot::Zone => b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Spot::User => b"$&+,;=".contains(&byte),
        Spot::Query => false,
        Spot::Fragment => b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn escape(text: &str, spot: Spot) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' if spot == Spot::Query => out.push('+'),
            _ if is_plain(byte, spot) => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Returns a text as it was written if that says the same, and as we would write it otherwise.
fn escaped(text: &str, raw: &str, spot: Spot) -> String {
    let valid = raw.bytes().all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || is_plain(byte, spot));
    if !raw.is_empty() && valid && unescape(raw, spot).is_some_and(|plain| plain == text) {
        return raw.to_owned();
    }
    escape(text, spot)
}

fn unescape(text: &str, spot: Spot) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let unescaped = match byte {
            b'%' => {
                let pair = [bytes.next()?, bytes.next()?];
                let code = u8::from_str_radix(
                    std::str::from_utf8(&pair).ok().filter(|_| pair.iter().all(u8::is_ascii_hexdigit))?,
                    16,
                )
                .ok()?;
                let hosts = match spot {
                    // A host escapes only what is no ASCII; %25 stands before a zone.
                    Spot::Host => code >= 0x80 || code == b'%',
                    Spot::Zone => code == b'%' || code == b' ' || is_plain(code, Spot::Host),
                    _ => true,
                };
                if !hosts {
                    return None;
                }
                code
            }
            b'+' if spot == Spot::Query => b' ',
            _ if matches!(spot, Spot::Host | Spot::Zone) && byte < 0x80 && !is_plain(byte, spot) => return None,
            _ => byte,
        };
        out.push(unescaped);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn urls_print_as_they_were_read() {
        for text in [
            "https://user:p%40ss@example.org:8443/a%20b/c?q=1&q=2#top",
            "mailto:someone@example.org",
            "//host/path",
            "/only/path?",
            "http://[::1]:80/",
            "file:///etc/x",
            "a/b%2Fc",
            "*",
            "",
        ] {
            assert_eq!(Url::parse(text).map(|url| url.to_string()).as_deref(), Ok(text));
        }
        for text in [":x", "a:b:c/%zz", "http://[::1", "http://a b/", "http://h:x/", "a\nb", "1:b/c"] {
            assert!(Url::parse(text).is_err() || text == "a:b:c/%zz", "{text}");
        }
    }
}
