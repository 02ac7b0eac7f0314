//! Pure. Finds values of secrets in files that are about to be committed.
//!
//! Templates see no secret, so a value gets there only by somebody who pasted it into the config or into a file. Findings
//! name the secret and the line, never the value. Not here: Secret objects with data, which the generation refuses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::secrets::SecretNeeds;
use crate::base::RepoPath;
use crate::model::{Diagnostic, File, Purpose, Secrets};

/// Shortest value that is searched for; a shorter one occurs by accident.
const MIN_BYTES: usize = 8;
/// Shortest copy that is searched for: what another app calls a secret may be a name of a person or database.
const MIN_COPY_BYTES: usize = 16;

/// Returns every place where a file holds the value of a secret that an app has or copies.
pub fn leaks<'a>(
    needs: &SecretNeeds,
    secrets: &Secrets,
    files: impl Iterator<Item = (&'a RepoPath, &'a File)>,
) -> Vec<Diagnostic> {
    let wanted = wanted(needs, secrets);
    let mut findings = Vec::new();
    for (path, file) in files.filter(|_| !wanted.is_empty()) {
        let Some(text) = file.as_text() else { continue };
        for Wanted { secret, forms } in &wanted {
            let found = forms.iter().filter_map(|form| text.find(form.as_str())).min();
            let Some(before) = found.and_then(|at| text.get(..at)) else { continue };
            let line = before.matches('\n').count() + 1;
            let message = format!("the file holds the value of the secret {secret}");
            let hint = format!("name the key of the Secret {}-secrets there, and make the value anew", needs.app);
            findings.push(Diagnostic::error("P063", path.as_str(), line, message).with_hint(hint));
        }
    }
    findings
}

/// A secret and what its value looks like in a file.
struct Wanted {
    secret: String,
    forms: [String; 2],
}

/// Returns the secrets that nobody can know: random ones, those made of other secrets, those that a person gave, copies.
fn wanted(needs: &SecretNeeds, secrets: &Secrets) -> Vec<Wanted> {
    let is_unknown = |default: &Option<String>| default.as_ref().is_none_or(|default| default.contains(".secrets"));
    let own = needs.own.iter().filter(|spec| is_unknown(&spec.default)).map(|spec| (spec.key.clone(), MIN_BYTES));
    let copies = needs.copies.iter().map(|copy| (copy.copy_key(), MIN_COPY_BYTES));
    let value = |(key, shortest): (String, usize)| {
        let secret = needs.path(&key);
        let value = secrets.get(&secret)?.expose(Purpose::LeakSearch);
        let forms = [value.to_owned(), STANDARD_NO_PAD.encode(value)];
        (value.len() >= shortest).then_some(Wanted { secret, forms })
    };
    own.chain(copies).filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::leaks;
    use crate::base::RepoPath;
    use crate::model::{AppName, File, PackageName, SecretValue, Secrets};
    use crate::package::{SecretNeeds, read_manifest};

    /// Searches a text for the secrets of an app: a random one, one with a fixed default, one made of it, and a copy.
    fn check(text: &str, expected: &[&str]) {
        let manifest = "version: '1'\nrequires: [{name: stonedb, alias: db}]\nrequiredSecrets: [db.password]\ndefaultSecrets:\n- token\n\
                        - {key: user, default: gardener}\n- {key: url, default: \"x://{{ .secrets.token }}\"}\n";
        let manifest = read_manifest("manifest.yaml", &PackageName::parse("blog").unwrap(), manifest).unwrap().manifest;
        let app = |name: &str| AppName::parse(name).unwrap();
        let bindings = BTreeMap::from([("db".to_owned(), app("stonedb"))]);
        let mut secrets = Secrets::new();
        for (key, value) in
            [("token", "Xk3vPq9w"), ("user", "gardener"), ("url", "x://Xk3vPq9w"), ("dbPassword", "Zt8mW2cL0aB7yR4n")]
        {
            secrets.insert(&format!("apps.blog.{key}"), SecretValue::new(value.to_owned()));
        }
        let path = RepoPath::parse("apps/blog/deployment.yaml").unwrap();
        let needs = SecretNeeds::of(&app("blog"), &manifest, &bindings);
        let found = leaks(&needs, &secrets, [(&path, &File::text(text))].into_iter());
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        for value in ["Xk3vPq9w", "Zt8mW2cL0aB7yR4n"] {
            assert!(!found.concat().contains(value));
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn a_value_is_found_with_its_line() {
        let of = |line: usize, key: &str| {
            format!("apps/blog/deployment.yaml:{line}: P063: the file holds the value of the secret apps.blog.{key}")
        };
        check("a: 1\nb: Xk3vPq9w\n", &[&of(2, "token")]);
        check("url: x://Xk3vPq9w\n", &[&of(1, "token"), &of(1, "url")]);
        check("\n\nhash: WnQ4bVcyY0wwYUI3eVI0bg==\n", &[&of(3, "dbPassword")]);
    }

    #[test]
    fn what_everybody_knows_is_no_secret() {
        check("user: gardener\ntoken: apps.blog.token\nname: blog-secrets\n", &[]);
    }
}
