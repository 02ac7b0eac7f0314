//! Pure. Finds values of secrets in files that are about to be committed.
//!
//! Templates see no secret, so a value gets there only by somebody who pasted it into the config or into a file. Findings
//! name the secret and the line, never the value. Not here: Secret objects with data, which the generation refuses.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::secrets::{SecretCopy, SecretNeeds};
use crate::base::RepoPath;
use crate::model::{Diagnostic, File, Purpose, SecretValue, Secrets};
use crate::template;

/// Shortest value that is searched for; a shorter one occurs by accident.
const MIN_BYTES: usize = 8;
/// Shortest copy that is searched for: what another app calls a secret may be a name of a person or database.
const MIN_COPY_BYTES: usize = 16;
/// How often a copy may be a copy of a copy.
const MAX_COPIES_OF_COPIES: usize = 8;

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

/// Returns the values of today that are secrets, each with its path: all but those that a package tells everybody.
pub fn values<'a, 'b>(
    needs: impl Iterator<Item = &'b SecretNeeds> + Clone,
    secrets: &'a Secrets,
) -> Vec<(&'a str, &'a SecretValue)> {
    let mut known: BTreeSet<String> = needs.clone().flat_map(|needs| told(needs, secrets)).collect();
    for _ in 0..MAX_COPIES_OF_COPIES {
        let is_known = |copy: &&SecretCopy| known.contains(&copy.source());
        let of_app = |needs: &SecretNeeds| -> Vec<String> {
            needs.copies.iter().filter(is_known).map(|copy| needs.path(&copy.copy_key())).collect()
        };
        let copies: Vec<String> = needs.clone().flat_map(of_app).collect();
        known.extend(copies);
    }
    // What is only a copy is told by the name of the owner, who can make it anew.
    let text = |path: &str| secrets.get(path).map(|value| value.expose(Purpose::LeakSearch));
    let is_copy = |needs: &SecretNeeds| -> Vec<String> {
        let same = |copy: &&SecretCopy| text(&needs.path(&copy.copy_key())) == text(&copy.source());
        needs.copies.iter().filter(same).map(|copy| needs.path(&copy.copy_key())).collect()
    };
    known.extend(needs.flat_map(is_copy));
    let values = secrets.paths().filter(|path| !known.contains(*path));
    values.filter_map(|path| Some((path, secrets.get(path)?))).collect()
}

/// Returns the secrets of an app whose values everybody knows who has its package: defaults in which no other secret takes part.
fn told(needs: &SecretNeeds, secrets: &Secrets) -> Vec<String> {
    let is_told = |path: &str, default: &str| {
        let value = secrets.get(path).map(|value| value.expose(Purpose::LeakSearch));
        // One that a person put in place of a default is a secret.
        !default.contains(".secrets") && (template::has_action(default) || value == Some(default.trim_end()))
    };
    let own = needs.own.iter().filter_map(|spec| Some((needs.path(&spec.key), spec.default.as_ref()?)));
    own.filter(|(path, default)| is_told(path, default)).map(|(path, _)| path).collect()
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
