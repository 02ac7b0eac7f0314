//! The grammar of the command line: `wild NOUN VERB [NAME…] [flags]`.
//!
//! The arguments of a command stand in its own file, with its examples. Not here: what commands do.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::{
    app, cluster, completion, daemon, debug, demo, directory, doctor, drift, hook, init, kustomize, merge_file,
    operation, package, plan, secret, status, undo,
};

/// Keeps a Kubernetes cluster as its git repository says, and the repository up to date with its package directory.
#[derive(Parser, Debug)]
#[command(
    name = "wild",
    version,
    max_term_width = 120,
    disable_help_subcommand = true,
    help_expected = true,
    after_help = "Start: wild init my-cloud        See it work without a cluster: wild demo"
)]
pub(super) struct Grammar {
    /// Flags that every command takes.
    #[command(flatten)]
    pub(super) flags: Flags,
    /// The command; nothing prints the short help.
    #[command(subcommand)]
    pub(super) verb: Option<Verb>,
}

/// Flags that every command takes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global flags")]
pub(super) struct Flags {
    /// Instance, if it is not the one around the working directory.
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) instance: Option<String>,
    /// Format of the output.
    #[arg(short, long, global = true, value_enum, value_name = "FORMAT")]
    pub(super) output: Option<Format>,
    /// Prints errors only.
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// Prints steps; twice also requests.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(super) verbose: u8,
    /// Shows what would be done and changes nothing.
    #[arg(long, global = true, value_enum, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "server")]
    pub(super) dry_run: Option<DryRun>,
    /// Works without a daemon on the repository in DIR, or around the working directory.
    #[arg(long, global = true, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub(super) local: Option<PathBuf>,
    /// Address of the daemon.
    #[arg(long, global = true, value_name = "URL", conflicts_with = "local")]
    pub(super) daemon_url: Option<String>,
    /// Unix socket of the daemon.
    #[arg(long, global = true, value_name = "PATH", conflicts_with_all = ["local", "daemon_url"])]
    pub(super) socket: Option<PathBuf>,
    /// Longest time to wait for long work, such as 90s or 5m.
    #[arg(long, global = true, value_name = "DURATION")]
    pub(super) timeout: Option<String>,
    /// Answers every question with yes, where all names stand on the command line.
    #[arg(short, long, global = true)]
    pub(super) yes: bool,
    /// Never asks; what is missing is an error.
    #[arg(long, global = true)]
    pub(super) no_input: bool,
    /// When to use colour.
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub(super) color: Option<Color>,
}

/// A format of output.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    /// For people.
    #[value(alias = "text")]
    Table,
    /// For people, with more columns.
    Wide,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// One name per line, such as `app/ghost`.
    Name,
    /// For code scanners; other commands than `package lint` print JSON.
    Sarif,
}

/// How a dry run is checked.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DryRun {
    /// It is no dry run.
    None,
    /// In memory.
    Client,
    /// By the API server where it can be.
    Server,
}

/// When colour is used.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Color {
    /// On a terminal.
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(super) enum Verb {
    /// Makes an instance: a git repository that says how a cluster is to be.
    Init(init::Init),
    /// Shows what runs, what needs you and what was done last.
    Status(status::Status),
    /// Shows what is stuck, why, and what would free it.
    Doctor(doctor::Doctor),
    /// Shows what the next pass would do; nothing is written.
    Plan(plan::Plan),
    /// Package directories: where apps come from.
    #[command(subcommand, visible_alias = "upstream")]
    Directory(directory::DirectoryVerb),
    /// Apps: packages that you added.
    #[command(subcommand)]
    App(app::AppVerb),
    /// What differs in the cluster from what git says.
    #[command(subcommand)]
    Drift(drift::DriftVerb),
    /// Secrets: values that never lie in git.
    #[command(subcommand)]
    Secret(secret::SecretVerb),
    /// Takes back what was asked for, by one more commit.
    Undo(undo::Undo),
    /// What was asked for and done.
    #[command(subcommand)]
    Operation(operation::OperationVerb),
    /// Packages: tools for their authors.
    #[command(subcommand)]
    Package(package::PackageVerb),
    /// The cluster of an instance.
    #[command(subcommand)]
    Cluster(cluster::ClusterVerb),
    /// Runs the daemon, which keeps clusters as their repositories say.
    Daemon(daemon::DaemonRun),
    /// Plays the whole story in one process, without a cluster and without a network.
    Demo(demo::Demo),
    /// Prints the version.
    #[command(after_long_help = VERSION_HELP)]
    Version,
    /// Prints a completion script for a shell.
    Completion(completion::Completion),
    /// Sets git up: merges in a clone, checks of pushes in a repository.
    #[command(subcommand)]
    Hook(hook::HookVerb),
    /// Our kustomize alone.
    #[command(subcommand, hide = true)]
    Kustomize(kustomize::KustomizeVerb),
    /// Merges three versions of a file; also as the merge driver of git.
    MergeFile(merge_file::MergeFile),
    /// Our parts alone.
    #[command(subcommand, hide = true)]
    Debug(debug::DebugVerb),
}

const VERSION_HELP: &str = "Examples:
  wild version
  wild version -o json

Exit codes:
  0 printed";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn the_grammar_holds_together() {
        Grammar::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples_that_are_commands_and_its_exit_codes() {
        let mut seen = 0;
        check(&Grammar::command(), "wild", &mut seen);
        assert!(seen > 60, "only {seen} examples");
    }

    fn check(command: &clap::Command, name: &str, seen: &mut usize) {
        for below in command.get_subcommands() {
            check(below, &format!("{name} {}", below.get_name()), seen);
        }
        if command.has_subcommands() {
            return;
        }
        let help = command.clone().render_long_help().to_string();
        let (_, examples) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{name} has no example"));
        assert!(help.contains("Exit codes:\n"), "{name} tells no exit codes");
        for line in examples.lines().take_while(|line| line.starts_with("  ")) {
            *seen += 1;
            let words = words(line);
            let parsed = Grammar::try_parse_from(&words);
            assert!(parsed.is_ok(), "{name}: {line}: {}", parsed.unwrap_err());
        }
    }

    /// Splits an example as a shell would, as far as examples go: spaces and double quotes; a pipe or an input file ends it.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(" | ").next().unwrap_or(line);
        let line = line.split(" < ").next().unwrap_or(line).trim();
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words
    }

    /// Returns the texts of a source file, without those of its tests and comments.
    fn texts(source: &str) -> Vec<String> {
        let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let (mut texts, mut open) = (Vec::new(), None::<String>);
        let mut chars = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| line.chars().chain(['\n']));
        while let Some(c) = chars.next() {
            match (c, &mut open) {
                ('\'', None) => {
                    // A quote as a character.
                    let rest = chars.clone().take(2).collect::<String>();
                    if rest == "\"'" {
                        chars.next();
                        chars.next();
                    }
                }
                ('"', None) => open = Some(String::new()),
                ('"', Some(_)) => texts.extend(open.take()),
                ('\\', Some(text)) => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some('\n') => {
                        let blanks = chars.clone().take_while(|c| c.is_whitespace()).count();
                        chars.by_ref().take(blanks).for_each(drop);
                    }
                    Some(other) => text.push(other),
                    None => {}
                },
                (c, Some(text)) => text.push(c),
                (_, None) => {}
            }
        }
        texts
    }

    /// Returns the commands of ours in a text, up to where one ends in a sentence.
    fn commands_in(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (at, _) in text.match_indices("wild ") {
            let (before, rest) = text.split_at(at);
            let before = before.chars().next_back().unwrap_or(' ');
            let is_word = before.is_alphanumeric() || "-_./{".contains(before);
            let rest = rest.trim_start_matches("wild ");
            if is_word || !rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '-') {
                continue;
            }
            let end = [
                ";", ",", "`", "\n", ")", "(", "  ", " or ", " and ", " in ", " makes ", " gives ", " takes ",
                " brings ", " once ", " anew", " shows", " | ", " < ", ": ", ". ",
            ];
            let end = end.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
            found.push(format!("wild {}", rest.split_at(end).0.trim_end_matches(['.', ':'])));
        }
        found
    }

    /// Fills the gaps of a command: what a text puts in, and words in capitals that a person puts in.
    fn filled(command: &str) -> String {
        let mut text = String::new();
        let mut rest = command;
        while let Some((before, gap)) = rest.split_once('{') {
            text.push_str(before);
            // What follows a word at once is a flag that may be there.
            if before.ends_with("--grant ") {
                text.push_str("ghost.key");
            } else if before.ends_with([' ', '=', '.', '/']) {
                text.push_str("ghost");
            }
            rest = gap.split_once('}').map_or("", |(_, rest)| rest);
        }
        text.push_str(rest);
        let of_person = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
        let put_in = |word: &str| {
            let pieces = word.split(['=', '.', '/']).map(|piece| if of_person(piece) { "ghost" } else { piece });
            let signs = word.chars().filter(|c| "=./".contains(*c)).map(String::from).chain([String::new()]);
            pieces.zip(signs).map(|(piece, sign)| format!("{piece}{sign}")).collect::<String>()
        };
        text.split(' ').map(put_in).collect::<Vec<_>>().join(" ")
    }

    /// Returns whether a command is one that can be typed, or a sentence that only begins like one.
    fn can_be_typed(command: &str, is_help: bool) -> bool {
        const SENTENCES: [&str; 10] =
            ["by", "command", "died", "does", "makes", "runs", "show", "that", "waits", "while"];
        let mut words = words(&filled(command));
        // What is set is written behind by who says it.
        if matches!(words.last().map(String::as_str), Some("set" | "--set")) {
            words.push("key=value".to_owned());
        }
        let first = words.get(1).map(String::as_str).unwrap_or_default();
        match Grammar::try_parse_from(&words).map_err(|error| error.kind()) {
            Ok(_) | Err(ErrorKind::DisplayHelp) => true,
            Err(ErrorKind::InvalidSubcommand) => SENTENCES.contains(&first) || first == "writes",
            // A help names a command without what belongs to it.
            Err(ErrorKind::MissingRequiredArgument) => is_help && !command.contains(['{', '-']),
            Err(_) => false,
        }
    }

    #[test]
    fn every_command_that_a_text_of_ours_names_can_be_typed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = vec![root.clone()];
        let (mut seen, mut wrong) = (0, Vec::new());
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let name = path.file_name().unwrap().to_str().unwrap();
                if path.is_dir() && name != "tests" {
                    folders.push(path);
                } else if name.ends_with(".rs") && name != "tests.rs" {
                    let is_help = path.starts_with(root.join("cli"));
                    let texts = texts(&std::fs::read_to_string(&path).unwrap());
                    for command in texts.iter().flat_map(|text| commands_in(text)) {
                        seen += 1;
                        if !can_be_typed(&command, is_help) {
                            wrong.push(format!("{}: {command}", path.display()));
                        }
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(seen > 300, "only {seen} commands");
    }

    #[test]
    fn a_flag_may_stand_before_and_after_the_command() {
        for line in ["wild -o json app list", "wild app list -o json", "wild app -o json list"] {
            let parsed = Grammar::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(parsed.flags.output, Some(Format::Json), "{line}");
        }
        let parsed = Grammar::try_parse_from(["wild", "app", "delete", "ghost", "--dry-run"]).unwrap();
        assert_eq!(parsed.flags.dry_run, Some(DryRun::Server));
    }

    #[test]
    fn an_unknown_format_is_refused_before_anything_runs() {
        assert!(Grammar::try_parse_from(["wild", "app", "list", "-o", "xml"]).is_err());
    }
}
