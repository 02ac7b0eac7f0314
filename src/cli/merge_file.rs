//! `wild merge-file`: merges three versions of one file, alone or as the merge driver of git.
//!
//! A driver is called as `wild merge-file --style zdiff3 %O %A %B %P %L %S %X %Y`: the result overwrites the second file, and 1 says that markers
//! are left in it. A code above 128 says that nothing was written. Not here: the merge (`merge`).

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::arguments::Format;
use super::error::{CommandError, ExitCode};
use super::session::Session;
use super::sops_keys::sops_keys;
use crate::base::RepoPath;
use crate::merge::{
    self, Conflict, ConflictKind, Favor, FileMerge, MARKER_CHARS, MarkerLabels, MarkerStyle, Prefer, Rules, Three,
};

/// Largest file that is merged in any way, in bytes.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

const HELP: &str = "Examples:
  wild merge-file base.yaml mine.yaml upstream.yaml
  wild merge-file base.yaml mine.yaml upstream.yaml --stdout --style zdiff3
  wild merge-file base.yaml mine.yaml upstream.yaml -o json
  wild merge-file base.txt mine.txt upstream.txt --stdout --union
  wild merge-file --style zdiff3 base.yaml mine.yaml upstream.yaml apps/web/a.yaml 7

A file that SOPS encrypted (*.sops.yaml) is merged by key on its decrypted values, with the age key that sops would find:
SOPS_AGE_KEY, SOPS_AGE_KEY_FILE, ~/.config/sops/age/keys.txt, SOPS_AGE_KEY_CMD. It gets no markers, which would break it: yours stays
at each conflict, and standard error names the keys.

Exit codes:
  0 merged   1 conflicts are marked   129 nothing was written";

// The three sides of a merge. A documentation comment would become the help of each command that takes them.
#[derive(Args, Debug)]
pub(super) struct Sides {
    /// What both sides started from.
    #[arg(value_name = "BASE")]
    pub(super) base: PathBuf,
    /// Our side; `merge-file` writes the result over it.
    #[arg(value_name = "OURS")]
    pub(super) ours: PathBuf,
    /// Their side.
    #[arg(value_name = "THEIRS")]
    pub(super) theirs: PathBuf,
}

/// What `wild merge-file` was given.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct MergeFile {
    #[command(flatten)]
    sides: Sides,
    /// Path of the file in the repository, which says what kind of file it is; without it the path of ours does.
    #[arg(value_name = "PATH")]
    path: Option<String>,
    /// Characters of a conflict marker.
    #[arg(value_name = "CHARS", default_value_t = MARKER_CHARS)]
    marker_size: usize,
    /// Names of base, ours and theirs in conflict markers.
    #[arg(value_name = "LABELS", num_args = 0..=3)]
    labels: Vec<String>,
    /// How conflicts are marked.
    #[arg(long, value_enum, default_value = "merge")]
    style: Style,
    /// Takes one side wherever both changed the same.
    #[arg(long, value_enum, value_name = "SIDE")]
    take: Option<Side>,
    #[command(flatten)]
    favor: Favored,
    /// Prints the result instead of overwriting ours.
    #[arg(long)]
    stdout: bool,
    /// Reads the files as templates with these delimiters.
    #[arg(long, value_name = "OPEN CLOSE", num_args = 2)]
    delimiters: Option<Vec<String>>,
}

/// How conflicts are marked.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    /// Ours and theirs.
    Merge,
    /// Ours, base and theirs.
    Diff3,
    /// As diff3, with what ours and theirs share outside.
    Zdiff3,
}

// Git's words for lines that both changed.
#[derive(Args, Debug)]
#[group(multiple = false, conflicts_with = "take")]
struct Favored {
    /// Leaves our lines wherever both changed the same, as git does.
    #[arg(id = "favor-ours", long = "ours")]
    ours: bool,
    /// Leaves their lines wherever both changed the same, as git does.
    #[arg(id = "favor-theirs", long = "theirs")]
    theirs: bool,
    /// Leaves our lines and theirs behind them wherever both changed the same, as git does.
    #[arg(long)]
    union: bool,
}

impl Favored {
    fn favor(&self) -> Option<Favor> {
        let Self { ours, theirs, union } = *self;
        let words = [(ours, Favor::Ours), (theirs, Favor::Theirs), (union, Favor::Union)];
        words.into_iter().find_map(|(given, favor)| given.then_some(favor))
    }
}

/// A side to take.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    /// Ours.
    Mine,
    /// Theirs.
    Upstream,
}

/// Merges the three files.
pub(super) async fn run(session: &mut Session<'_>, arguments: &MergeFile) -> Result<ExitCode, CommandError> {
    let what = format!("merge {}", arguments.sides.ours.display());
    let refuse = |because: String| {
        CommandError::new(what.clone(), because, "git merge-file").with_code(ExitCode::NothingWritten)
    };
    let read = |path: &Path| read(&session.environment.path(path)).map_err(&refuse);
    let sides = [read(&arguments.sides.base)?, read(&arguments.sides.ours)?, read(&arguments.sides.theirs)?];
    let [Ok(base), Ok(ours), Ok(theirs)] = sides.map(String::from_utf8) else {
        // As git does it: ours stays, and a person decides.
        session.note(&format!(
            "{}: both sides changed it, and it is no text; yours stays",
            arguments.sides.ours.display()
        ));
        return Ok(ExitCode::Answer);
    };
    let named = arguments.path.clone().unwrap_or_else(|| arguments.sides.ours.display().to_string());
    let path = RepoPath::parse(in_instance(named.trim_start_matches(['/', '.'])))
        .map_err(|error| refuse(error.to_string()))?;
    let sides = vec![base.as_str(), ours.as_str(), theirs.as_str()];
    let is_encrypted = merge::is_encrypted(&path, sides.iter().copied());
    let sops = sops_keys(session, &[(path.clone(), sides)]).await;
    // Lines of an encrypted file mean nothing, so what is asked of lines is asked of values.
    let of_lines = arguments.favor.favor().filter(|_| is_encrypted);
    let prefer = match (arguments.take, of_lines) {
        (Some(Side::Mine), _) | (None, Some(Favor::Ours)) => Prefer::Ours,
        (Some(Side::Upstream), _) | (None, Some(Favor::Theirs)) => Prefer::Theirs,
        (None, Some(Favor::Union) | None) => Prefer::Neither,
    };
    let texts = Three { base: Some(base.as_str()), ours: Some(ours.as_str()), theirs: Some(theirs.as_str()) };
    let templates = delimiters(arguments, &[&base, &ours, &theirs]);
    let merged = merge::merge_file(&path, texts, &Rules { prefer, templates, sops, ..Rules::default() });
    let favored = arguments.favor.favor().filter(|_| !is_encrypted).map(|favor| merged.favoring(favor));
    let is_done = merged.conflicts.is_empty() || favored.is_some();
    let text = favored.clone().unwrap_or_else(|| marked(&merged, arguments));
    if is_encrypted && session.format() != Format::Json {
        tell_hidden(session, &path, &merged);
    }
    if session.format() == Format::Json {
        let open = if is_done { Vec::new() } else { merged.conflicts };
        let conflicts: Vec<serde_json::Value> = open.iter().map(Conflict::to_json).collect();
        let notices: Vec<String> = merged.notices.iter().map(ToString::to_string).collect();
        let answer =
            json!({"merged": favored.or(merged.text), "conflicts": conflicts, "notices": notices, "how": merged.how});
        session.out.data(&format!("{answer}\n"));
    } else if arguments.stdout {
        session.out.data(&text);
    } else {
        std::fs::write(session.environment.path(&arguments.sides.ours), &text)
            .map_err(|error| refuse(error.to_string()))?;
        for notice in &merged.notices {
            session.note(&notice.to_string());
        }
    }
    Ok(if is_done { ExitCode::Done } else { ExitCode::Answer })
}

/// Names the conflicts of an encrypted file, in which no markers stand.
fn tell_hidden(session: &mut Session<'_>, path: &RepoPath, merged: &FileMerge) {
    for conflict in &merged.conflicts {
        let [mine, upstream] = conflict.changes();
        let place = if conflict.key.is_empty() { conflict.why.clone() } else { conflict.key.clone() };
        session.note(&format!("{path}: {place}: mine {mine}, upstream {upstream}; yours stays"));
    }
    if merged.conflicts.iter().any(|conflict| conflict.kind != ConflictKind::FileKind) {
        session.note(&format!("try: sops edit {path}, then git add {path}"));
    }
}

/// Returns a path as its instance has it: git names a file by its path in the repository, and no directory above an instance is called apps.
fn in_instance(path: &str) -> &str {
    match path.find("/apps/").and_then(|at| path.get(at + 1..)) {
        Some(inside) if !path.starts_with("apps/") => inside,
        Some(_) | None => path,
    }
}

fn marked(merged: &FileMerge, arguments: &MergeFile) -> String {
    let style = match arguments.style {
        Style::Merge => MarkerStyle::Merge,
        Style::Diff3 => MarkerStyle::Diff3,
        Style::Zdiff3 => MarkerStyle::Zdiff3,
    };
    let name = |place: usize, path: &Path, word: &str| {
        // A git that knows no names of the sides leaves their marks as they are.
        let given = arguments.labels.get(place).filter(|label| !label.starts_with('%'));
        let own = || if arguments.path.is_some() { word.to_owned() } else { path.display().to_string() };
        given.cloned().unwrap_or_else(own)
    };
    let base = name(0, &arguments.sides.base, "base");
    let (ours, theirs) = (name(1, &arguments.sides.ours, "mine"), name(2, &arguments.sides.theirs, "upstream"));
    let labels = MarkerLabels { base: &base, ours: &ours, theirs: &theirs, size: arguments.marker_size };
    merged.with_markers(style, labels)
}

/// Returns the delimiters of templates in the files, as given or as gomplate's where the files hold them.
fn delimiters(arguments: &MergeFile, texts: &[&str]) -> Option<(String, String)> {
    match arguments.delimiters.as_deref() {
        Some([open, close]) => Some((open.clone(), close.clone())),
        Some(_) | None => merge::templates_in(texts),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?.len();
    if bytes > MAX_BYTES {
        return Err(format!("{} is larger than 32 MiB", path.display()));
    }
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
