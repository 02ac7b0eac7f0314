//! Bench of what hides secrets in texts, run by hand: `cargo bench --bench veil`.
//!
//! Whoever writes a file chooses what it holds, and every diff of it is looked through. So a text of four times the size must take about four
//! times as long, whatever it is made of: one piece again and again, or one piece behind another one. Pairs and triples are drawn; a seed is
//! `WILD_SEED`. What takes more than seven times as long is printed. Nothing here asserts a time.
#![expect(clippy::print_stdout, clippy::indexing_slicing, reason = "a bench prints what it found")]

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rewild::model::Veil;
use rewild::yaml::veil::veiled;

/// Bytes of the smaller text.
const SMALL: usize = 50_000;
/// How much larger the other one is.
const TIMES: usize = 4;
/// How much longer that one may take.
const WANTED: u32 = 7;
/// How long is drawn.
const DRAWING: Duration = Duration::from_secs(60);
/// What a loop takes that does nothing with any text.
const NOISE: Duration = Duration::from_millis(20);

/// Pieces that one of the judges of a text looks at, each unfinished in its way.
const PIECES: [&str; 81] = [
    "k:\n  password: h\n",
    "\"\\'",
    "\"",
    "'",
    "\\",
    "\\\"",
    "[",
    "f(",
    "a=",
    "password=",
    "{password: x, ",
    "<password ",
    "<name>",
    "<value>",
    "://",
    "a://b@c ",
    "a:b@",
    "mysql -p ",
    "--password x ",
    "{{ x ",
    "$(",
    "password=${",
    "name=\"a\" value=\"b\" ",
    "value=\"b\" ",
    "?a=b&",
    "eyJ.",
    "SG.",
    "ghp_ ",
    "ghp_",
    "identified by \"x\" ",
    "- --password\n- x\n",
    "\"\\\"\\\\\\\"",
    "password=\"",
    "\"a\",",
    " ",
    "a' ",
    "-----BEGIN PRIVATE KEY-----",
    "password=<<",
    "password: [",
    "password: (",
    "<password><![CDATA[",
    ":",
    "a;",
    "password=a;",
    "name=a ",
    "hooks.slack.com/services/",
    "?",
    "?password=|",
    "?password=$",
    "password: | ",
    "a: > ",
    "Bearer ",
    "Authorization: Basic ",
    "a://b:",
    "@",
    ":thin:a/",
    "a/b@",
    "a:1:b:",
    "name=a {",
    "<key>a</key>",
    "<string>",
    "<value>a",
    "<a name=\"x\" value=",
    "machine a login b password c ",
    "password 'a ",
    "setPassword(\"x",
    "define('A_PASSWORD', 'x ",
    "curl -u a:b ",
    "password=a\\n",
    "\\\"password\\\": \\\"a\\\", ",
    "${A}",
    "{{ .Values.password }}",
    "password: {{ a }}{{ ",
    "cat <<EOF ",
    "&",
    " #",
    "password: a #",
    "a: {b: [password: ",
    "tokens: [a, ",
    "{\"password\": \"",
    "identified by ",
];

fn main() {
    let seed = std::env::var("WILD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_127);
    let mut draw = StdRng::seed_from_u64(seed);
    let (mut slowest, mut looked) = ((Duration::ZERO, String::new()), 0);
    let mut look = |what: String, make: &dyn Fn(usize) -> String| {
        let (small, large) = (time(&make(SMALL)), time(&make(SMALL * TIMES)));
        looked += 1;
        // What is slow by chance is not so twice.
        if large > small * WANTED && large > NOISE && time(&make(SMALL * TIMES)) > time(&make(SMALL)) * WANTED {
            println!("{what}: {small:?} for {SMALL} bytes, {large:?} for {TIMES} times as many");
        }
        if large > slowest.0 {
            slowest = (large, what);
        }
    };
    for piece in PIECES {
        look(format!("{piece:?}"), &|bytes| piece.repeat(bytes / piece.len()));
    }
    let begun = Instant::now();
    while begun.elapsed() < DRAWING {
        let [one, two, three] = [(); 3].map(|()| PIECES[draw.random_range(0..PIECES.len())]);
        look(format!("{one:?} before {two:?}"), &|bytes| format!("{one}{}", two.repeat(bytes / two.len())));
        let both = format!("{one}{two}");
        look(format!("{both:?}"), &|bytes| both.repeat(bytes / both.len()));
        look(format!("{both:?} before {three:?}"), &|bytes| {
            both.repeat(bytes / 2 / both.len()) + &three.repeat(bytes / 2 / three.len())
        });
    }
    println!(
        "{looked} texts, from seed {seed}; the slowest of {} bytes: {:?}, {}",
        SMALL * TIMES,
        slowest.0,
        slowest.1
    );
}

fn time(text: &str) -> Duration {
    let begun = Instant::now();
    std::hint::black_box(veiled(text, &Veil::default()));
    begun.elapsed()
}
