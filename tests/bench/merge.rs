//! Benches of the merge engine, run by hand: `cargo bench --bench merge`, or without building the rest of the product
//! `cargo bench --features bench` in `tests/fuzz`.
//!
//! Every figure stands beside libgit2's line merge of the same files in the same run, because only such ratios mean anything on another
//! machine. The files are made from a fixed seed. Nothing here asserts a time.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints what it found, and ends where something is amiss"
)]

use std::time::Instant;

use git2::{MergeFileInput, Repository};
use rewild::base::RepoPath;
use rewild::merge::{Rules, Three, merge, merge_file};
use rewild::model::{File, FileTree};

/// Sizes of the files in bytes: the deciles of what people keep.
const SIZES: [usize; 10] = [512, 1_024, 1_536, 2_560, 4_096, 7_168, 12_288, 22_528, 46_080, 87_040];
/// Files of each size.
const FILES: usize = 20;
/// Apps of the update, and files of each.
const APPS: (usize, usize) = (60, 10);
/// Times that everything is run.
const ROUNDS: usize = 3;
/// Times that the merges beside libgit2 are run, in turns: both are short, and a machine is not always equally fast.
const TURNS: usize = 12;
/// Size of a large definition in bytes.
const LARGE: usize = 2 * 1024 * 1024;

type Triple = Three<String>;

/// Makes a file of about a size: an object with as many entries as it takes, of which `edit` changes some.
fn file(size: usize, seed: usize, edit: impl Fn(usize) -> Option<&'static str>) -> String {
    let mut text = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{seed}\nspec:\n  template:\n    spec:\n      containers:\n"
    );
    let mut place = 0;
    while text.len() < size {
        let tag = edit(place).unwrap_or("1.0");
        let port = 1_024 + (seed * 31 + place * 7) % 60_000;
        text.push_str(&format!(
            "      # Number {place} of its kind.\n      - name: part-{place}\n        image: \"registry.example.org/part-{}:{tag}\"\n        \
             ports:\n        - containerPort: {port}\n          name: web\n        env:\n        - name: LEVEL\n          value: info\n        \
             resources:\n          limits: {{cpu: 100m, memory: 64Mi}}\n",
            (seed + place) % 97
        ));
        place += 1;
    }
    text
}

/// Makes three sides: ours changed the first entry, theirs the third, or the second where there is no third.
fn triple(size: usize, seed: usize) -> Triple {
    Three {
        base: file(size, seed, |_| None),
        ours: file(size, seed, |place| (place == 0).then_some("1.1")),
        theirs: file(size, seed, |place| {
            (place == 2 || place % 40 == 39 || place == 1 && size == SIZES[0]).then_some("2.0")
        }),
    }
}

/// Returns the seconds that something takes.
fn once(work: impl Fn()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64()
}

/// Runs something some times and returns the seconds that it took at best.
fn seconds(work: impl Fn()) -> f64 {
    (0..ROUNDS).map(|_| once(&work)).fold(f64::INFINITY, f64::min)
}

/// Returns a figure of this process in KiB, as the kernel counts it.
fn kib(figure: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(figure)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

fn by_libgit2(triple: &Triple) {
    let mut inputs = [MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new()];
    for (input, text) in inputs.iter_mut().zip([&triple.base, &triple.ours, &triple.theirs]) {
        input.content(text.as_bytes());
    }
    let [base, ours, theirs] = inputs;
    git2::merge_file(&base, &ours, &theirs, None).unwrap();
}

fn by_structure(path: &RepoPath, triple: &Triple) {
    let texts = Three { base: Some(&*triple.base), ours: Some(&*triple.ours), theirs: Some(&*triple.theirs) };
    let merged = merge_file(path, texts, &Rules::default());
    assert!(merged.conflicts.is_empty() && merged.guard.is_none(), "{:?}", merged.conflicts);
}

fn tree(app: usize, side: impl Fn(&Triple) -> &String, triples: &[Triple], changed: usize) -> FileTree {
    let path = |number: usize| RepoPath::parse(&format!("apps/app-{app}/file-{number}.yaml")).unwrap();
    let file = |(number, triple): (usize, &Triple)| {
        let text = if number < changed { side(triple) } else { &triple.base };
        (path(number), File::text(text))
    };
    triples.iter().enumerate().map(file).collect()
}

fn main() {
    // libgit2 fails without words until it was used once.
    let directory = tempfile::tempdir().unwrap();
    Repository::init_bare(directory.path()).unwrap();
    let path = RepoPath::parse("apps/app/all.yaml").unwrap();

    // First of all, because the allocator keeps what was freed, and what it kept counts for nobody.
    let large = triple(LARGE, 1);
    // From here on the kernel counts the peak anew.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = kib("VmRSS");
    by_structure(&path, &large);
    let (largest, more) = (f64::from(u32::try_from(large.ours.len()).unwrap()) / 1024.0, kib("VmHWM") - before);
    println!(
        "peak memory of a file of 2 MiB above its beginning {more:.0} KiB, {:.1} times the largest file",
        more / largest
    );

    let triples: Vec<Triple> = SIZES.iter().flat_map(|size| (0..FILES).map(|seed| triple(*size, seed))).collect();
    let (mut theirs, mut ours) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..TURNS {
        theirs = theirs.min(once(|| triples.iter().for_each(by_libgit2)));
        ours = ours.min(once(|| triples.iter().for_each(|triple| by_structure(&path, triple))));
    }
    let per_second = |time: f64| f64::from(u32::try_from(triples.len()).unwrap()) / time;
    println!(
        "by structure    {:>9.0} files/s, libgit2 {:.0}: {:.3} of it",
        per_second(ours),
        per_second(theirs),
        theirs / ours
    );

    let (apps, files) = APPS;
    let sides: Vec<Vec<Triple>> =
        (0..apps).map(|app| (0..files).map(|number| triple(18_000, app * files + number)).collect()).collect();
    let trees = |changed: usize| -> Vec<Three<FileTree>> {
        let three = |(app, triples): (usize, &Vec<Triple>)| Three {
            base: tree(app, |it| &it.base, triples, changed),
            ours: tree(app, |it| &it.ours, triples, changed),
            theirs: tree(app, |it| &it.theirs, triples, changed),
        };
        sides.iter().enumerate().map(three).collect()
    };
    let run = |trees: &[Three<FileTree>]| {
        for three in trees {
            assert!(merge(three.as_ref(), &Rules::default()).conflicts.is_empty());
        }
    };
    let same = trees(0);
    let time = seconds(|| run(&same));
    println!("nothing to do   {:>9.0} files/s", f64::from(u32::try_from(apps * files).unwrap()) / time);
    let tenth = trees(files / 10);
    println!(
        "update of {apps} apps, {} files, a tenth changed on both sides: {:.1} ms",
        apps * files,
        seconds(|| run(&tenth)) * 1e3
    );
    // A port is one of the things that the checks look for in every file of an app.
    let mut checked = trees(files / 10);
    for (app, three) in checked.iter_mut().enumerate() {
        let path = RepoPath::parse(&format!("apps/app-{app}/file-0.yaml")).unwrap();
        let text = String::from_utf8_lossy(&three.theirs.get(path.as_str()).unwrap().bytes).into_owned();
        three.theirs.insert(path, File::text(&text.replacen("name: web", "name: http", 1)));
    }
    println!("the same, with a port that was renamed: {:.1} ms", seconds(|| run(&checked)) * 1e3);
    let (theirs, ours) = (seconds(|| by_libgit2(&large)), seconds(|| by_structure(&path, &large)));
    println!("a file of 2 MiB  {:>8.1} ms, libgit2 {:.1} ms", ours * 1e3, theirs * 1e3);
}
