//! One context of a kubeconfig, chosen by a person and copied: without what would run a program or lead elsewhere, and with the files that it
//! names in it.
//!
//! Not here: what is refused (`yaml::kubeconfig`), the commands (`mod.rs`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::environment::Surroundings;
use super::super::error::CommandError;
use super::super::json::{list, text};
use super::super::locate::{read_settings, settings_file};
use super::Rank;
use crate::model::{ClusterName, InstanceId, Narrowed};
use crate::settings::{self, StateDirectory};
use crate::target::{check_kubeconfig, read_plain_file, read_private_file};
use crate::yaml::kubeconfig::{KubeContext, KubeFault, KubeFiles, KubePrograms, Kubeconfig};
use crate::yaml::{self, Dialect};

/// Bits of a mode by which others may read.
const READABLE: u32 = 0o044;

/// Reads the copy of an instance; an empty one if there is none.
pub(super) fn kept(path: &Path, what: &str) -> Result<(Value, Option<Narrowed>), CommandError> {
    if path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok((json!({}), None));
    }
    let (content, narrowed) = read_private_file(path).map_err(|why| {
        CommandError::new(what, format!("read {}: {why}", path.display()), format!("ls -l {}", path.display()))
    })?;
    // What a parser quotes of this file may be a credential.
    let text = String::from_utf8(content).unwrap_or_default();
    let read = yaml::load("kubeconfig", &text, Dialect::Kube).ok();
    let value = read.and_then(|loaded| loaded.documents.into_iter().next()).map(|document| document.value);
    let path = path.display();
    value
        .map(|value| (value, narrowed))
        .ok_or_else(|| CommandError::new(what, format!("{path} is no YAML"), format!("mv {path} {path}.bad")))
}

/// Returns a kubeconfig without what belongs to one context of it.
pub(super) fn without(config: &Value, name: &str) -> Value {
    let others = |key: &str| -> Vec<Value> {
        list(config, key).iter().filter(|entry| text(entry, "name") != name).cloned().collect()
    };
    let contexts = others("contexts");
    let current = match text(config, "current-context") {
        current if current == name => contexts.first().map(|context| text(context, "name")).unwrap_or_default(),
        current => current,
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "contexts": contexts,
        "clusters": others("clusters"),
        "users": others("users"),
    })
}

/// One context of a kubeconfig, with everything in it.
pub(in crate::cli) struct Chosen {
    /// Its name.
    pub(in crate::cli) context: String,
    /// Address of the cluster.
    pub(in crate::cli) server: String,
    /// What a person is told of the files that were read for it.
    pub(in crate::cli) remarks: Vec<String>,
    config: Value,
    /// Whether it runs a program to sign in, which is not copied.
    runs_program: bool,
}

impl Chosen {
    /// Refuses a context that runs a program to sign in, unless the daemon's settings name one for it in an instance.
    pub(in crate::cli) fn may_sign_in(
        &self,
        environment: &Surroundings,
        instance: &str,
        rank: Rank,
    ) -> Result<(), CommandError> {
        if !self.runs_program {
            return Ok(());
        }
        let programs = read_settings(environment, &settings_file(environment, None))?.programs_of(instance);
        if programs.contains_key(&self.context) || rank == Rank::First && programs.contains_key("") {
            return Ok(());
        }
        let cluster = if rank == Rank::First { instance.to_owned() } else { format!("{instance}/{}", self.context) };
        Err(CommandError::new(
            format!("copy the context {}", self.context),
            "it runs a program to sign in, and the daemon runs only what daemon.yaml names",
            format!(
                "write `clusters: {{{cluster}: {{exec: {{command: /PATH}}}}}}` into daemon.yaml: wild cluster add --help"
            ),
        ))
    }

    /// Gives it another name.
    pub(super) fn call(&mut self, name: &str) -> Result<(), CommandError> {
        let is_named = !name.is_empty() && ClusterName::parse(name).is_ok();
        if !is_named {
            return Err(CommandError::new(
                format!("call the cluster {name:?}"),
                "a name has printable characters and no blanks",
                "wild cluster add --as edge",
            ));
        }
        for key in ["contexts", "clusters", "users"] {
            let entry = self.config.get_mut(key).and_then(|list| list.get_mut(0)).and_then(Value::as_object_mut);
            if let Some(entry) = entry {
                entry.insert("name".to_owned(), Value::from(name));
            }
        }
        if let Some(context) = self.config.pointer_mut("/contexts/0/context") {
            *context = json!({"cluster": name, "user": name});
        }
        if let Some(fields) = self.config.as_object_mut() {
            fields.insert("current-context".to_owned(), Value::from(name));
        }
        name.clone_into(&mut self.context);
        Ok(())
    }

    /// Returns the copy together with the clusters that are there already.
    fn beside(&self, before: &Value, rank: Rank) -> Value {
        let mut config = without(before, &self.context);
        for key in ["contexts", "clusters", "users"] {
            if let Some(entries) = config.get_mut(key).and_then(Value::as_array_mut) {
                entries.extend(list(&self.config, key).iter().cloned());
            }
        }
        let first = match text(before, "current-context") {
            "" => &self.context,
            _ if rank == Rank::First => &self.context,
            first => first,
        };
        if let Some(fields) = config.as_object_mut() {
            fields.insert("current-context".to_owned(), Value::from(first));
        }
        config
    }

    /// Writes the copy and returns which cluster is the first one, and that others could read what was there before, if they could.
    pub(in crate::cli) fn write(
        &self,
        state: &StateDirectory,
        id: &InstanceId,
        rank: Rank,
    ) -> Result<(String, Option<Narrowed>), CommandError> {
        let what = "copy the kubeconfig";
        let path = state.instance(id).map_err(|error| CommandError::of_settings(what, &error))?.kubeconfig();
        let (before, narrowed) = kept(&path, what)?;
        let config = self.beside(&before, rank);
        settings::write_private(&path, yaml::write(&config).as_bytes())
            .map_err(|error| CommandError::of_settings(what, &error))?;
        Ok((text(&config, "current-context").to_owned(), narrowed))
    }
}

/// Returns what is told of a copy that others could read until it was written.
pub(in crate::cli) fn told(narrowed: &Narrowed) -> String {
    format!("others could read {} (mode {}) until now: replace what signs in", narrowed.path, narrowed.mode)
}

/// Reads the chosen context, and refuses one by which no server can be asked.
pub(in crate::cli) async fn choose(
    environment: &Surroundings,
    file: Option<&Path>,
    context: Option<&str>,
) -> Result<Chosen, CommandError> {
    let chosen = find(environment, file, context)?;
    let checked = check_kubeconfig(&yaml::write(&chosen.config)).await;
    checked.map_err(|refusal| {
        let what = format!("copy the context {}", chosen.context);
        CommandError::new(what, refusal.message, "kubectl config view --raw --flatten")
    })?;
    Ok(chosen)
}

/// Finds the chosen context.
fn find(environment: &Surroundings, file: Option<&Path>, context: Option<&str>) -> Result<Chosen, CommandError> {
    let files = files(environment, file);
    let mut seen = Vec::new();
    for file in &files {
        let Ok(content) = read_plain_file(file) else { continue };
        let what = || format!("read the kubeconfig {}", file.display());
        let refused = |fault: KubeFault| CommandError::new(what(), fault.to_string(), fault.remedy());
        let config = Kubeconfig::read(&content, KubeFiles::Any, KubePrograms::LeftOut).map_err(refused)?;
        let wanted = context.unwrap_or(&config.current).to_owned();
        seen.extend(config.contexts.iter().map(|(name, _)| name.clone()));
        if let Some(found) = config.context(&wanted) {
            let what = format!("copy the context {wanted} of {}", file.display());
            let found = found.clone().map_err(|fault| CommandError::new(&what, fault.to_string(), fault.remedy()))?;
            return copy(file, &wanted, found, &what);
        }
    }
    let wanted = context.unwrap_or("its current one");
    let what = format!("find the context {wanted}");
    match (seen.is_empty(), files.as_slice()) {
        (true, [file]) => Err(CommandError::new(
            what,
            format!("{} has no context or cannot be read", file.display()),
            "wild cluster add --kubeconfig FILE",
        )),
        (true, _) => Err(CommandError::new(what, "no kubeconfig was found", "wild cluster add --kubeconfig FILE")),
        (false, _) => {
            let remedy = format!("wild cluster add --context {}", seen.first().map(String::as_str).unwrap_or_default());
            Err(CommandError::new(what, format!("there are only: {}", seen.join(", ")), remedy))
        }
    }
}

/// Returns where a kubeconfig may be: the given file, the list in `KUBECONFIG`, or the usual place.
fn files(environment: &Surroundings, given: Option<&Path>) -> Vec<PathBuf> {
    match (given, environment.variable("KUBECONFIG"), environment.variable("HOME")) {
        (Some(given), ..) => vec![environment.path(given)],
        (None, Some(several), _) => {
            several.split(':').filter(|path| !path.is_empty()).map(|path| environment.path(Path::new(path))).collect()
        }
        (None, None, Some(home)) => vec![Path::new(home).join(".kube/config")],
        (None, None, None) => Vec::new(),
    }
}

/// Returns the inner object of a named entry.
pub(super) fn named<'a>(config: &'a Value, key: &str, name: &str, inner: &str) -> Option<&'a Value> {
    list(config, key).iter().find(|entry| text(entry, "name") == name)?.get(inner)
}

/// Puts the files that a context names into it.
fn copy(file: &Path, name: &str, mut context: KubeContext, what: &str) -> Result<Chosen, CommandError> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut remarks: Vec<String> = openness(file).into_iter().collect();
    let files: Vec<(&str, PathBuf)> =
        context.files().into_iter().map(|(field, path)| (field, folder.join(path))).collect();
    for (field, path) in files {
        let content = read_plain_file(&path).map_err(|why| {
            let because = format!("read {}: {why}", path.display());
            CommandError::new(what, because, "check that the file is there and may be read")
        })?;
        remarks.push(format!("What stands in {} goes along as {field}.", path.display()));
        if matches!(field, "client-key" | "tokenFile") {
            remarks.extend(openness(&path));
        }
        context
            .inline(field, &content)
            .map_err(|fault| CommandError::new(what, format!("use {}: {fault}", path.display()), fault.remedy()))?;
    }
    let (server, runs_program) = (context.server.clone(), context.runs_program);
    Ok(Chosen { context: name.to_owned(), server, remarks, config: context.alone(name), runs_program })
}

/// Returns what a person is told of a file that signs in, if others may read it.
fn openness(file: &Path) -> Option<String> {
    let is_open = file.metadata().is_ok_and(|found| found.permissions().mode() & READABLE != 0);
    let file = file.display();
    is_open.then(|| format!("Others may read {file}, and what signs in stands in it: chmod 600 {file}"))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// What a certificate is by its form.
    const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";

    const CONFIG: &str = "apiVersion: v1
kind: Config
current-context: home
contexts:
- {name: home, context: {cluster: one, user: admin}}
- {name: work, context: {cluster: one, user: program}}
clusters:
- {name: one, cluster: {server: 'https://127.0.0.1:6443', certificate-authority: ca.pem}}
users:
- {name: admin, user: {token: abc}}
- {name: program, user: {exec: {command: get-token}}}
";

    fn world() -> (tempfile::TempDir, Surroundings) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("config"), CONFIG).unwrap();
        std::fs::write(directory.path().join("ca.pem"), AUTHORITY).unwrap();
        let environment = Surroundings::bare(directory.path());
        (directory, environment)
    }

    #[test]
    fn a_context_is_copied_alone_and_with_the_files_it_names() {
        let (_directory, environment) = world();
        let chosen = find(&environment, Some(Path::new("config")), None).unwrap();
        assert_eq!((chosen.context.as_str(), chosen.server.as_str()), ("home", "https://127.0.0.1:6443"));
        let text = yaml::write(&chosen.config);
        assert!(
            text.contains(&format!("certificate-authority-data: {}", STANDARD.encode(AUTHORITY)))
                && text.contains("token: abc"),
            "{text}"
        );
        assert!(!text.contains("get-token"), "{text}");
    }

    #[test]
    fn whoever_copies_a_context_is_told_which_files_go_along_and_which_others_may_read() {
        let (directory, environment) = world();
        let at = |name: &str| directory.path().join(name).display().to_string();
        std::fs::write(at("config"), CONFIG.replace("token: abc", "tokenFile: sub/../token")).unwrap();
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("token"), "abc\n").unwrap();
        for (name, mode) in [("config", 0o600), ("ca.pem", 0o644), ("token", 0o640)] {
            std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let chosen = find(&environment, Some(Path::new("config")), None).unwrap();
        let token = at("sub/../token");
        let expected = [
            format!("What stands in {} goes along as certificate-authority.", at("ca.pem")),
            format!("What stands in {token} goes along as tokenFile."),
            format!("Others may read {token}, and what signs in stands in it: chmod 600 {token}"),
        ];
        assert_eq!(chosen.remarks, expected);
        std::fs::set_permissions(at("config"), std::fs::Permissions::from_mode(0o604)).unwrap();
        let chosen = find(&environment, Some(Path::new("config")), None).unwrap();
        assert!(chosen.remarks[0].contains("Others may read") && chosen.remarks.len() == 4, "{:?}", chosen.remarks);
    }

    #[test]
    fn a_second_cluster_stands_beside_the_first_and_under_its_own_name() {
        let (_directory, environment) = world();
        let chosen = || find(&environment, Some(Path::new("config")), None).unwrap();
        let names = |config: &Value| -> Vec<String> {
            let contexts = list(config, "contexts").iter().map(|context| text(context, "name").to_owned());
            contexts.chain([text(config, "current-context").to_owned()]).collect()
        };
        let first = chosen().beside(&json!({}), Rank::Beside);
        assert_eq!(names(&first), ["home", "home"]);
        let mut other = chosen();
        assert!(other.call("two words").is_err() && other.call("").is_err());
        other.call("edge").unwrap();
        let both = other.beside(&first, Rank::Beside);
        assert_eq!(names(&both), ["home", "edge", "home"]);
        assert_eq!(both["contexts"][1]["context"], json!({"cluster": "edge", "user": "edge"}));
        assert_eq!(names(&other.beside(&first, Rank::First)), ["home", "edge", "edge"]);
        // The same again replaces what it was.
        assert_eq!(names(&chosen().beside(&both, Rank::Beside)), ["edge", "home", "home"]);
        assert_eq!(names(&without(&both, "home")), ["edge", "edge"]);
        assert_eq!(list(&without(&both, "edge"), "users").len(), 1);
    }

    #[test]
    fn a_context_that_runs_a_program_is_copied_without_it_where_the_settings_name_one() {
        let (directory, mut environment) = world();
        let file = directory.path().join("daemon.yaml");
        environment.variables.insert("WILD_CONFIG".to_owned(), file.display().to_string());
        let chosen = find(&environment, Some(Path::new("config")), Some("work")).unwrap();
        assert!(!yaml::write(&chosen.config).contains("get-token"));
        let error = chosen.may_sign_in(&environment, "home", Rank::Beside).unwrap_err();
        assert!(error.because.contains("runs a program") && error.remedy.contains("{home/work: {exec:"), "{error:?}");
        let may = |instance, rank| chosen.may_sign_in(&environment, instance, rank).is_ok();
        std::fs::write(&file, "clusters: {home/work: {exec: {command: /bin/get-token}}}\n").unwrap();
        assert!(may("home", Rank::Beside) && !may("lab", Rank::First));
        std::fs::write(&file, "clusters: {home: {exec: {command: /bin/get-token}}}\n").unwrap();
        assert!(may("home", Rank::First) && !may("home", Rank::Beside));
    }

    #[test]
    fn an_unknown_context_is_answered_with_those_that_are_there() {
        let (_directory, environment) = world();
        let error = find(&environment, Some(Path::new("config")), Some("lab")).err().unwrap();
        assert_eq!(error.because, "there are only: home, work");
        assert!(find(&environment, None, None).err().unwrap().because.contains("no kubeconfig"));
    }
}
