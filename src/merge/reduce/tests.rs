//! Pure. Tests of what is left out of a merge, and of how it comes back.

use std::fmt::Write as _;

use super::{MARK, Reduced, reduce};
use crate::merge::piece::Rope;
use crate::merge::{Rules, Three};

fn of(texts: [&str; 3]) -> Option<Reduced> {
    let [base, ours, theirs] = texts.map(Some);
    reduce(&Three { base, ours, theirs }, &Rules::default())
}

/// Returns the texts that are left, with numbers behind an ellipsis for what is left out.
fn left(texts: [&str; 3]) -> [String; 3] {
    let Some(reduced) = of(texts) else { return texts.map(str::to_owned) };
    let Three { base, ours, theirs } = reduced.texts().map(|text| text.unwrap_or_default().replace(MARK, "…"));
    [base, ours, theirs]
}

/// A Deployment with containers of some images.
fn deployment(images: [&str; 5]) -> String {
    let mut text =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: quarry\n  labels:\n    app: quarry\n    tier: \
                    back\nspec:\n  strategy:\n    type: Recreate\n  template:\n    spec:\n      containers:\n"
            .to_owned();
    for (place, image) in images.iter().enumerate() {
        let _ = write!(
            text,
            "      # Part {place}.\n      - name: part-{place}\n        image: quarry/{image}\n        ports:\n        - \
             containerPort: 80\n          name: web\n        env:\n        - name: LEVEL\n          value: info\n"
        );
    }
    text
}

#[test]
fn what_no_side_changed_is_one_line_and_comes_back() {
    let base = deployment(["a", "b", "c", "d", "e"]);
    let (ours, theirs) = (deployment(["x", "b", "c", "d", "e"]), deployment(["a", "b", "c", "d", "y"]));
    let [_, mine, _] = left([&base, &ours, &theirs]);
    let expected = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: quarry\n  labels: …0\nspec:\n  …1: 0\n  \
                    template:\n    spec:\n      containers:\n      # Part 0.\n      - name: part-0\n        image: \
                    quarry/x\n        ports: …2\n        env: …3\n      # Part 1.\n      - name: part-1\n        …4: 0\n      \
                    # Part 4.\n      - name: part-4\n        image: quarry/e\n        ports: …5\n        env: …6\n";
    assert_eq!(mine, expected);
    let reduced = of([&base, &ours, &theirs]).unwrap();
    let rope = Rope::plain(reduced.texts().ours.unwrap());
    assert_eq!(reduced.restored(&rope).map(|rope| rope.ours()), Some(ours));
}

#[test]
fn a_line_that_stands_for_others_must_be_there_once_and_as_it_was() {
    let base = deployment(["a", "b", "c", "d", "e"]);
    let theirs = deployment(["a", "b", "c", "d", "y"]);
    let reduced = of([&base, &base, &theirs]).unwrap();
    let text = reduced.texts().ours.unwrap().to_owned();
    let line = text.lines().find(|line| line.contains(MARK)).unwrap();
    let restored = |text: String| reduced.restored(&Rope::plain(text));
    assert!(restored(text.clone()).is_some());
    assert!(restored(text.replace(line, "")).is_none());
    assert!(restored(format!("{text}{line}\n")).is_none());
    assert!(restored(text.replace(line, &format!("  {line}"))).is_none());
    let sides = Three { base: String::new(), ours: text.clone(), theirs: text };
    assert!(reduced.restored(&Rope::open(vec![0], sides)).is_none());
}

#[test]
fn fields_by_which_an_item_is_told_apart_stay() {
    let text = |values: [&str; 5]| {
        let port = |(place, value): (usize, &&str)| {
            format!(
                "  - appProtocol: quarry.example/{value}\n    port: {}\n    protocol: UDP\n    nodePort: 3000{place}\n",
                80 + place
            )
        };
        let ports: String = values.iter().enumerate().map(port).collect();
        format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: quarry\nspec:\n  ports:\n{ports}  selector:\n    app: quarry\n"
        )
    };
    let (base, ours, theirs) =
        (text(["a", "b", "c", "d", "e"]), text(["a", "b", "c", "d", "x"]), text(["a", "b", "c", "d", "y"]));
    let [_, mine, _] = left([&base, &ours, &theirs]);
    assert!(mine.contains("port: 80\n    protocol: UDP\n    …0: 0\n"), "{mine}");
    assert!(!mine.contains("port: 81\n"), "{mine}");
}

#[test]
fn nothing_is_left_out_where_a_line_is_not_known() {
    let base = deployment(["a", "b", "c", "d", "e"]);
    let theirs = deployment(["a", "b", "c", "d", "y"]);
    let odd = [
        "  odd: &name value\n",
        "  odd: *name\n",
        "  odd: !tag value\n",
        "  odd: a: b\n",
        "  odd: \"a\\x41\"\n",
        "  odd: |2\n      two\n",
        "  odd: |+\n    kept\n\n",
        "  odd: [a,\n    b]\n",
        "  ? odd\n  : value\n",
        "  odd:\ttab\n",
        "  - odd\n",
        "   odd: deeper\n",
        "  <<: {a: b}\n",
        "  odd: \"a\n",
        "  odd: a\n    b: c\n",
        "  odd: |\n     first\n    less\n",
        "# wild: key=image\n",
    ];
    for line in odd {
        let texts = [&base, &base, &theirs].map(|text| format!("{text}{line}"));
        assert!(of(texts.each_ref().map(String::as_str)).is_none(), "{line}");
    }
    let known = [
        "...\n",
        "  plain: a text\n    of two lines\n",
        "  quoted: 'it''s\n\n    one'\n",
        "  double: \"a \\\" b\" # why\n",
        "  block: |\n    a: [\n\n      # no comment\n    - b\n  other: >-\n    x\n",
        "  brackets: {a: b, c: [d, 'e, f']}\n",
        "  list:\n  - --flag=a:b\n  - \"x\"\n  - |\n    y\n",
        "  umlaut: Größe\n",
        "\n# behind\n",
    ];
    for line in known {
        let texts = [&base, &base, &theirs].map(|text| format!("{text}{line}"));
        assert!(of(texts.each_ref().map(String::as_str)).is_some(), "{line}");
    }
}

#[test]
fn a_list_without_keys_and_one_with_a_doubled_key_stay() {
    let text = |first: &str, image: &str| {
        let items: String = ["alpha", "beta", "gamma"]
            .iter()
            .map(|name| format!("    - {name}: 1\n      size: 20\n      zone: north\n"))
            .collect();
        let named: String = [first, "two", "two"]
            .iter()
            .map(|name| format!("    - name: {name}\n      size: 20\n      zone: north\n"))
            .collect();
        format!(
            "apiVersion: quarry.example/v1\nkind: Pit\nmetadata:\n  name: quarry\nspec:\n  image: {image}\n  loose:\n{items}  named:\n{named}  more:\n    a: {image}\n    filler: {}\n",
            "x".repeat(400)
        )
    };
    let [_, mine, _] = left([&text("one", "a"), &text("one", "b"), &text("uno", "a")]);
    assert!(mine.contains("- name: one\n      size: 20\n      zone: north\n    - name: two\n      size: 20"), "{mine}");
}
