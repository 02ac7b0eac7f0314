//! Pure. Names that real gomplate knows and we refuse, with the reason and what to do instead.
//!
//! Not here: names that are neither known nor refused.

use crate::template::failure::Failure;

/// Groups of which every function is refused, and why.
const GROUPS: [(&str, &str, &str); 8] = [
    ("env", "the environment", "a rendering depends on its config alone; add a key to defaultConfig"),
    ("file", "the file system", "a rendering sees only its own text; put the content into the package"),
    ("net", "the network", "a rendering makes no look-ups; add a key to defaultConfig"),
    ("sockaddr", "the network", "a rendering makes no look-ups; add a key to defaultConfig"),
    ("aws", "a cloud", "a rendering makes no look-ups; add a key to defaultConfig"),
    ("gcp", "a cloud", "a rendering makes no look-ups; add a key to defaultConfig"),
    ("random", "chance", "secrets that are made once belong to defaultSecrets"),
    ("plugins", "other programs", "a rendering starts no program"),
];

/// Single names that are refused, and why.
const NAMES: [(&str, &str, &str); 33] = [
    ("getenv", "the environment", "a rendering depends on its config alone; add a key to defaultConfig"),
    ("include", "outside data", "use {{ template \"name\" . }} for a template of this file"),
    ("defineDatasource", "outside data", "the values of the app's config are at the root: {{ .domain }}"),
    ("datasourceExists", "outside data", "the values of the app's config are at the root: {{ .domain }}"),
    ("datasourceReachable", "outside data", "the values of the app's config are at the root: {{ .domain }}"),
    ("listDatasources", "outside data", "the values of the app's config are at the root: {{ .domain }}"),
    ("ec2meta", "a cloud", "add a key to defaultConfig"),
    ("ec2dynamic", "a cloud", "add a key to defaultConfig"),
    ("ec2tag", "a cloud", "add a key to defaultConfig"),
    ("ec2tags", "a cloud", "add a key to defaultConfig"),
    ("ec2region", "a cloud", "add a key to defaultConfig"),
    ("uuid.V1", "chance", "secrets that are made once belong to defaultSecrets"),
    ("uuid.V4", "chance", "secrets that are made once belong to defaultSecrets"),
    ("crypto.Bcrypt", "chance", "secrets that are made once belong to defaultSecrets"),
    ("crypto.RSAEncrypt", "chance", "secrets that are made once belong to defaultSecrets"),
    ("crypto.RSADecrypt", "keys", "secrets that are made once belong to defaultSecrets"),
    ("crypto.RSADecryptBytes", "keys", "secrets that are made once belong to defaultSecrets"),
    ("crypto.RSAGenerateKey", "chance", "secrets that are made once belong to defaultSecrets"),
    ("crypto.RSADerivePublicKey", "keys", "secrets that are made once belong to defaultSecrets"),
    ("crypto.ECDSAGenerateKey", "chance", "secrets that are made once belong to defaultSecrets"),
    ("crypto.ECDSADerivePublicKey", "keys", "secrets that are made once belong to defaultSecrets"),
    ("crypto.Ed25519GenerateKey", "chance", "secrets that are made once belong to defaultSecrets"),
    ("crypto.Ed25519GenerateKeyFromSeed", "keys", "secrets that are made once belong to defaultSecrets"),
    ("crypto.Ed25519DerivePublicKey", "keys", "secrets that are made once belong to defaultSecrets"),
    ("crypto.EncryptAES", "chance", "secrets that are made once belong to defaultSecrets"),
    ("crypto.DecryptAES", "keys", "secrets that are made once belong to defaultSecrets"),
    ("crypto.DecryptAESBytes", "keys", "secrets that are made once belong to defaultSecrets"),
    ("time.Now", "the clock", "add a key to defaultConfig"),
    ("time.Since", "the clock", "add a key to defaultConfig"),
    ("time.Until", "the clock", "add a key to defaultConfig"),
    ("time.ZoneName", "the host's time zone", "add a key to defaultConfig"),
    ("time.ZoneOffset", "the host's time zone", "add a key to defaultConfig"),
    ("time.ParseLocal", "the host's time zone", "write time.ParseInLocation with the name of a zone"),
];

/// Names of gomplate that are not built.
const UNBUILT: [&str; 9] =
    ["jq", "jsonpath", "coll.JQ", "coll.JSONPath", "cue", "toCUE", "data.CUE", "data.ToCUE", "call"];

/// Names of other tools, and what to write instead.
const FOREIGN: [(&str, &str); 17] = [
    ("nindent", "start a new line and write {{ … | strings.Indent 4 \" \" }}"),
    ("toYaml", "write toYAML"),
    ("toJson", "write toJSON"),
    ("fromYaml", "write data.YAML"),
    ("fromJson", "write data.JSON"),
    ("lookup", "a rendering cannot ask the cluster"),
    ("b64enc", "write base64.Encode"),
    ("b64dec", "write base64.Decode"),
    ("upper", "write strings.ToUpper"),
    ("lower", "write strings.ToLower"),
    ("trunc", "write strings.Trunc"),
    ("replace", "write strings.ReplaceAll old new"),
    ("hasKey", "write has"),
    ("list", "write coll.Slice"),
    ("sha256sum", "write crypto.SHA256"),
    ("randAlphaNum", "secrets that are made once belong to defaultSecrets"),
    ("tuple", "write coll.Slice"),
];

/// Returns whether a short name is known only to be refused.
pub(super) fn is_refused(name: &str) -> bool {
    group(name).is_some() || failure(name).is_some()
}

/// Returns the group of this name if all its functions are refused.
pub(super) fn group(name: &str) -> Option<&'static str> {
    GROUPS.iter().map(|(known, _, _)| *known).find(|known| *known == name)
}

/// Returns why a function is refused, if it is; the name may hold its group.
pub(super) fn failure(name: &str) -> Option<Failure> {
    if let Some((_, reason, hint)) = NAMES.iter().find(|(known, _, _)| *known == name) {
        return Some(refusal(name, reason, hint));
    }
    let group = name.split_once('.').map_or(name, |(group, _)| group);
    if UNBUILT.contains(&name) {
        return Some(Failure::new("T211", format!("function {name} is known but not available yet")));
    }
    let (_, reason, hint) = GROUPS.iter().find(|(known, _, _)| *known == group && name != group)?;
    Some(refusal(name, reason, hint))
}

fn refusal(name: &str, reason: &str, hint: &str) -> Failure {
    Failure::new("T210", format!("function {name} is not available: a rendering does not reach {reason}")).hint(hint)
}

/// Returns what to write instead of a name of another tool.
pub(super) fn foreign(name: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(known, _)| *known == name).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::{failure, group, is_refused};

    #[test]
    fn what_reaches_outside_is_refused_by_name() {
        for name in ["getenv", "env.Getenv", "file.Read", "net.LookupIP", "random.ASCII", "uuid.V4", "time.Now"] {
            assert_eq!(failure(name).unwrap().id, "T210", "{name}");
        }
        assert!(group("env").is_some() && is_refused("env") && !is_refused("strings"));
    }

    #[test]
    fn what_is_not_built_is_said_so() {
        for name in ["jq", "data.CUE", "coll.JSONPath"] {
            assert_eq!(failure(name).unwrap().id, "T211", "{name}");
        }
    }
}
