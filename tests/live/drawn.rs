//! Templates and kustomizations drawn by chance: the real programs say of each what we say.
//!
//! The same seed draws the same cases, so a difference is found again by its number. Not here: the cases that are kept
//! (`oracle.rs`).

use rewild::base::RepoPath;
use rewild::kustomize::{build, render};
use rewild::model::{File, FileTree};
use rewild::template::{self, Context};
use serde_json::{Value, json};

use crate::parts::{Gomplate, kustomize, part};
use crate::random::Chance;

/// What the cases are drawn from.
const SEEDS: [u64; 4] = [2, 31, 20_261_122, 65_537];
/// Templates of a seed, and so many where the tests are long.
const TEMPLATES: (usize, usize) = (500, 5_000);
/// Kustomizations of a seed, and so many where the tests are long.
const KUSTOMIZATIONS: (usize, usize) = (60, 500);
/// Ids of what we refuse and gomplate does not: limits, functions that reach outside, config as a template, no value to print, a list's end.
const ONLY_OURS: &[&str] = &["T101", "T102", "T103", "T104", "T105", "T106", "T210", "T211", "T222", "T223", "T224"];
/// Deepest nesting of expressions and blocks.
const DEPTH: usize = 3;

fn drawn((fast, long): (usize, usize)) -> usize {
    if std::env::var_os("WILD_LONG").is_some() { long } else { fast }
}

#[test]
fn gomplate_renders_templates_drawn_by_chance_as_we_do() {
    let Some(mut gomplate) = Gomplate::start() else { return };
    let (mut printed, mut failed, mut ours_alone, mut wrong) = (0, 0, 0, Vec::new());
    for seed in SEEDS {
        let mut chance = Chance(seed);
        for number in 0..drawn(TEMPLATES) {
            let text = block(&mut chance, DEPTH);
            let ours = template::render("case.txt", &text, &Context::new(values()));
            // Without our limits the real one may take all memory there is.
            if ours.as_ref().is_err_and(|findings| findings.iter().any(|it| ONLY_OURS.contains(&it.id.as_str()))) {
                ours_alone += 1;
                continue;
            }
            match (ours, gomplate.render("case.txt", &text, &values())) {
                (Ok(ours), Ok(theirs)) if ours.text == theirs => printed += 1,
                (Err(_), Err(_)) => failed += 1,
                (ours, theirs) => {
                    let ours = ours.map(|rendered| rendered.text);
                    wrong.push(format!("{number} of seed {seed}: {text:?}\n  ours   {ours:?}\n  theirs {theirs:?}"));
                }
            }
        }
    }
    println!("{printed} templates print the same, {failed} fail in both, {ours_alone} are refused by us alone");
    assert!(wrong.is_empty(), "{} differ from gomplate:\n{}", wrong.len(), wrong.join("\n"));
    assert!(printed * 4 >= drawn(TEMPLATES) * SEEDS.len(), "most templates are wrong: {printed} print");
}

/// What the templates see.
fn values() -> Value {
    json!({
        "name": "blog", "long": "The quick brown fox, again: the fox", "empty": "", "number": 7, "zero": 0, "below": -3,
        "part": 2.5, "yes": true, "no": false, "digits": "42", "list": ["b", "a", "c", "a"], "numbers": [3, 1, 2],
        "nothing": [], "map": {"b": 1, "a": "x", "c": {"d": true}}, "path": "/srv/data/file.tar.gz",
    })
}

/// Operands by kind: text, number, boolean, list, map, text of a data format.
const OPERANDS: &[(char, &[&str])] = &[
    (
        's',
        &[
            ".name",
            ".long",
            ".empty",
            ".digits",
            ".map.a",
            ".path",
            "$.name",
            "\"a\"",
            "\"b c\"",
            "`raw\"`",
            "\"\"",
            "\",\"",
            "\"%v|%5.2f|%q\"",
            "\"fox|b\"",
            "\"o*.?\"",
        ],
    ),
    ('n', &[".number", ".zero", ".below", "1", "0", "-2", "3", "0x10", "'x'", ".part", "1.5", "1e3", "(len .list)"]),
    ('b', &[".yes", ".no", "true", "false"]),
    ('l', &[".list", ".numbers", ".nothing"]),
    ('m', &[".map", ".map.c"]),
    ('j', &["`{\"a\":[1,2.5],\"b\":null}`", "`[1,\"x\"]`", "\"a: 1\\nb: [x, yes]\\n\"", "\"a,b\\n1,2\\n\""]),
];

/// Functions with the kinds of their operands and of what they give, where `a` is any. Each stands here as `name operands result`.
const FUNCTIONS: &str = "\
    len l n; len s n; index ln a; index ms a; coll.Slice aaa l; print aaa s; println aa s; printf saa s; \
    printf sn s; html s s; js s s; urlquery s s; eq nn b; eq ss b; ne ss b; lt nn b; le ss b; gt nn b; ge nn b; \
    and aa a; or aaa a; not a b; strings.Abbrev ns s; strings.CamelCase s s; strings.Contains ss b; \
    strings.HasPrefix ss b; strings.HasSuffix ss b; strings.Indent nss s; strings.Indent ns s; \
    strings.KebabCase s s; strings.Quote a s; strings.Repeat ns s; strings.ReplaceAll sss s; \
    strings.RuneCount ss n; strings.ShellQuote l s; strings.SkipLines ns s; strings.Slug s s; \
    strings.SnakeCase s s; strings.Split ss l; strings.SplitN sns l; strings.Squote a s; strings.Title s s; \
    strings.ToLower s s; strings.ToUpper s s; strings.Trim ss s; strings.TrimLeft ss s; strings.TrimPrefix ss s; \
    strings.TrimRight ss s; strings.TrimSpace s s; strings.TrimSuffix ss s; strings.Trunc ns s; \
    strings.WordWrap ns s; conv.Atoi s n; conv.ToBool a b; conv.Default aa a; conv.Join ls s; conv.ToBools aa l; \
    conv.ToFloat64 a n; conv.ToFloat64s nn l; conv.ToInt n n; conv.ToInt64 n n; conv.ToInts nn l; \
    conv.ToString a s; conv.ToStrings aa l; conv.ParseInt snn n; conv.ParseUint snn n; conv.ParseFloat sn n; \
    coll.Append al l; coll.Dict sasa m; coll.Flatten l l; coll.Flatten nl l; coll.GoSlice lnn l; \
    coll.GoSlice snn s; coll.Has ms b; coll.Has la b; coll.Index nl a; coll.Keys m l; coll.Merge mm m; \
    coll.Omit ssm m; coll.Pick ssm m; coll.Prepend al l; coll.Reverse l l; coll.Sort l l; coll.Uniq l l; \
    coll.Values m l; math.Abs n n; math.Add nnn n; math.Ceil n n; math.Div nn n; math.Floor n n; math.IsFloat a b; \
    math.IsInt a b; math.IsNum a b; math.Max nnn n; math.Min nnn n; math.Mul nnn n; math.Pow nn n; math.Rem nn n; \
    math.Round n n; math.Seq nn l; math.Sub nn n; data.JSON j a; data.JSONArray j l; data.ToJSON a s; \
    data.ToJSONPretty sa s; data.ToYAML a s; data.YAML j a; data.ToTOML m s; data.CSV j l; test.IsKind sa b; \
    test.Kind a s; test.Required sa a; test.Ternary aab a; regexp.Find ss s; regexp.FindAll sns l; \
    regexp.Match ss b; regexp.Replace sss s; regexp.ReplaceLiteral sss s; regexp.Split sns l; regexp.QuoteMeta s s; \
    path.Base s s; path.Clean s s; path.Dir s s; path.Ext s s; path.Join ss s; path.Match ss b; base64.Encode s s; \
    crypto.SHA256 s s";

/// Draws a text with actions.
fn block(chance: &mut Chance, depth: usize) -> String {
    (0..=chance.below(2)).map(|_| piece(chance, depth)).collect()
}

fn piece(chance: &mut Chance, depth: usize) -> String {
    let (open, close) =
        (chance.of(&["{{", "{{", "{{ ", "{{- "]).to_owned(), chance.of(&["}}", "}}", " }}", " -}}"]).to_owned());
    let action = |text: &str| format!("{open}{text}{close}");
    let end = chance.of(&["{{end}}", "{{- end }}", "{{ end -}}\n"]).to_owned();
    let form = if depth == 0 { 0 } else { chance.below(12) };
    let pipeline = pipeline(chance, depth, if matches!(form, 8 | 9) { 'l' } else { 'a' });
    let mut inner = || if depth == 0 { String::new() } else { block(chance, depth - 1) };
    let (first, second) = (inner(), inner());
    match form {
        0..=3 => action(&pipeline),
        4 => format!(" text\n{}\n", action(&pipeline)),
        5 => format!("{}{first}{end}", action(&format!("if {pipeline}"))),
        6 => format!("{}{first}{{{{else}}}}{second}{end}", action(&format!("if {pipeline}"))),
        7 => format!("{}{first}{{{{ else }}}}{second}{end}", action(&format!("with {pipeline}"))),
        8 => format!("{}{{{{ . }}}},{end}", action(&format!("range {pipeline}"))),
        9 => format!(
            "{}{{{{ $k }}}}={{{{ $v }}}} {{{{else}}}}{second}{end}",
            action(&format!("range $k, $v := {pipeline}"))
        ),
        10 => format!("{}{{{{ $x }}}}{first}", action(&format!("$x := {pipeline}"))),
        _ => format!("{{{{ define \"t\" }}}}<{{{{ . }}}}>{end}{}", action(&format!("template \"t\" {pipeline}"))),
    }
}

/// Draws a pipeline that gives a kind.
fn pipeline(chance: &mut Chance, depth: usize, kind: char) -> String {
    let Some((name, operands)) = function(chance, kind) else { return operand(chance, 0, kind) };
    let Some(last) = operands.chars().last().filter(|_| chance.one_in(2)) else {
        return call(chance, depth, name, operands);
    };
    let first = operand(chance, depth, last);
    format!("{first} | {}", call(chance, depth, name, operands.get(..operands.len() - 1).unwrap_or_default()))
        .trim_end()
        .to_owned()
}

/// Draws a function that gives a kind; none gives the text of a data format.
fn function(chance: &mut Chance, kind: char) -> Option<(&'static str, &'static str)> {
    let entry = |text: &'static str| {
        let mut words = text.split_whitespace();
        Some((words.next()?, words.next()?, words.next()?.chars().next()?))
    };
    let fitting: Vec<_> = FUNCTIONS.split(';').filter_map(entry).filter(|it| it.2 == kind || kind == 'a').collect();
    let (name, operands, _) = *fitting.get(chance.below(fitting.len().max(1)))?;
    Some((name, operands))
}

/// Draws a call, which now and then lacks an operand.
fn call(chance: &mut Chance, depth: usize, name: &str, operands: &str) -> String {
    let missing = usize::from(chance.one_in(30));
    let operands = operands.chars().skip(missing).map(|kind| format!(" {}", operand(chance, depth, kind)));
    format!("{name}{}", operands.collect::<String>())
}

/// Draws an operand of a kind, and now and then of another.
fn operand(chance: &mut Chance, depth: usize, kind: char) -> String {
    match kind {
        _ if chance.one_in(60) => chance.of(&["nil", ".missing", "$.map.none"]).to_owned(),
        'a' => {
            let kind = OPERANDS[chance.below(OPERANDS.len() - 1)].0;
            operand(chance, depth, kind)
        }
        _ if depth > 0 && kind != 'j' && chance.one_in(3) => format!("({})", pipeline(chance, depth - 1, kind)),
        _ => {
            let kind = if chance.one_in(30) { 's' } else { kind };
            let (_, all) = OPERANDS.iter().find(|(of, _)| *of == kind).unwrap();
            chance.of(all).to_owned()
        }
    }
}

#[test]
fn kustomize_builds_directories_drawn_by_chance_as_we_do() {
    if part("kustomize").is_none() {
        return;
    }
    let (mut equal, mut refused, mut ours_alone, mut other_bytes, mut wrong) = (0, 0, 0, Vec::new(), Vec::new());
    for seed in SEEDS {
        let mut chance = Chance(seed);
        for number in 0..drawn(KUSTOMIZATIONS) {
            let files = directory(&mut chance);
            let scratch = tempfile::tempdir().unwrap();
            let mut tree = FileTree::new();
            for (path, text) in &files {
                let place = scratch.path().join(path);
                std::fs::create_dir_all(place.parent().unwrap()).unwrap();
                std::fs::write(place, text).unwrap();
                tree.insert(RepoPath::parse(path).unwrap(), File::text(text));
            }
            match (build(&tree, "").map(|built| render(&built)), kustomize(scratch.path()).unwrap()) {
                (Ok(ours), Ok(theirs)) if ours == theirs => equal += 1,
                (Ok(ours), Ok(theirs)) if documents(&ours) == documents(&theirs) => {
                    other_bytes.push(format!("{number} of seed {seed}"));
                }
                (Err(_), Err(_)) => refused += 1,
                // A tag, a directive or a field that we refuse by name.
                (Err(findings), Ok(_)) if findings[0].id.starts_with("K13") || findings[0].id == "K144" => {
                    ours_alone += 1
                }
                (ours, theirs) => {
                    let files: String = files.iter().map(|(path, text)| format!("=== {path}\n{text}")).collect();
                    wrong.push(format!("{number} of seed {seed}:\n{files}--- ours\n{ours:?}\n--- theirs\n{theirs:?}"));
                }
            }
        }
    }
    println!(
        "{equal} builds are equal, {refused} are refused by both, {ours_alone} by us alone; other bytes: {other_bytes:?}"
    );
    assert!(wrong.is_empty(), "{} differ from kustomize:\n{}", wrong.len(), wrong.join("\n"));
    assert!(other_bytes.len() * 20 <= equal, "{other_bytes:?}");
    assert!(equal * 3 >= drawn(KUSTOMIZATIONS) * SEEDS.len(), "most directories are wrong: {equal} build");
}

fn documents(text: &str) -> Vec<Value> {
    let loaded = rewild::yaml::load("built", text, rewild::yaml::Dialect::Gomplate).unwrap();
    loaded.documents.into_iter().map(|document| document.value).collect()
}

/// Fields of a kustomization, each with some of its values.
const FIELDS: &[(&str, &[&str])] = &[
    ("namespace", &["blog", "other"]),
    ("namePrefix", &["p-", "a.b-"]),
    ("nameSuffix", &["-s", "-1"]),
    ("commonLabels", &["{app: blog}", "{app: blog, tier: web}"]),
    (
        "labels",
        &[
            "[{pairs: {a: b}}]",
            "[{pairs: {a: b}, includeSelectors: true}]",
            "[{pairs: {a: b}, includeTemplates: true}]",
            "[{pairs: {a: b}, fields: [{path: spec/extra, create: true, kind: Service}]}, {pairs: {c: d}}]",
        ],
    ),
    ("commonAnnotations", &["{note: x}", "{note: \"yes\", other: \"1\"}"]),
    (
        "images",
        &[
            "[{name: web, newTag: \"2.0\"}]",
            "[{name: registry.example.org/web, newName: mirror.example.org/web, newTag: v3}]",
            "[{name: web, digest: \"sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3\"}]",
            "[{name: w.b, newName: other}, {name: side, tagSuffix: -x}]",
        ],
    ),
    ("replicas", &["[{name: web, count: 3}]", "[{name: db, count: 0}]", "[{name: none, count: 2}]"]),
    (
        "configMapGenerator",
        &[
            "[{name: words, literals: [a=b, 'c=\"d e\"']}]",
            "[{name: words, files: [e.env, key=e.env]}]",
            "[{name: words, envs: [e.env], options: {labels: {x: y}, immutable: true}}]",
            "[{name: conf, behavior: merge, literals: [new=1]}]",
            "[{name: conf, behavior: replace, literals: [k=2]}]",
            "[{name: words, literals: [a=b], options: {disableNameSuffixHash: true}}]",
        ],
    ),
    (
        "secretGenerator",
        &["[{name: keys, literals: [token=abc]}]", "[{name: keys, type: example.org/x, envs: [e.env]}]"],
    ),
    ("generatorOptions", &["{disableNameSuffixHash: true}", "{labels: {made: here}, annotations: {q: r}}"]),
    (
        "patches",
        &[
            "[{path: p.yaml}]",
            "[{path: p.yaml, target: {kind: Deployment}}]",
            "[{path: p.yaml, target: {kind: \"Deployment|StatefulSet\", name: \".*b\"}}]",
            "[{path: j.yaml, target: {kind: Deployment, name: web}}]",
            "[{path: j.yaml, target: {labelSelector: tier=web}}]",
            "[{path: d.yaml}]",
            "[{path: s.yaml}, {path: p.yaml}]",
        ],
    ),
    ("patchesStrategicMerge", &["[p.yaml]", "[s.yaml, p.yaml]", "[d.yaml]"]),
    ("patchesJson6902", &["[{target: {group: apps, version: v1, kind: Deployment, name: web}, path: j.yaml}]"]),
    (
        "replacements",
        &[
            "[{source: {kind: Service, name: web, fieldPath: \"spec.ports.[name=http].port\"}, targets: [{select: {kind: Deployment}, fieldPaths: [\"spec.template.spec.containers.[name=main].ports.0.containerPort\"]}]}]",
            "[{source: {kind: ConfigMap, name: conf, fieldPath: data.host}, targets: [{select: {kind: Ingress}, fieldPaths: [spec.rules.*.host], options: {delimiter: ., index: 0}}]}]",
            "[{source: {kind: Deployment}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.owner], options: {create: true}}]}]",
        ],
    ),
    ("sortOptions", &["{order: fifo}", "{order: legacy}"]),
    ("components", &["[part]"]),
];

/// Files of the directory, some of which it names.
const OBJECTS: &[(&str, &str)] = &[
    (
        "deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: {tier: web}\nspec:\n  replicas: 1\n  selector:\n    matchLabels: {tier: web}\n  template:\n    metadata:\n      labels: {tier: web}\n    spec:\n      serviceAccountName: runner\n      initContainers:\n      - {name: init, image: 'side:1'}\n      containers:\n      - name: main\n        image: registry.example.org/web:1.0\n        ports:\n        - {name: http, containerPort: 80}\n        env:\n        - {name: A, value: \"1\"}\n        - name: K\n          valueFrom: {configMapKeyRef: {name: conf, key: k}}\n        envFrom:\n        - secretRef: {name: keys}\n      - {name: side, image: web}\n      volumes:\n      - {name: v, configMap: {name: words}}\n      - {name: p, persistentVolumeClaim: {claimName: data}}\n",
    ),
    (
        "service.yaml",
        "# the door\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  selector: {tier: web}\n  ports:\n  - {name: http, port: 8080, targetPort: http}\n",
    ),
    (
        "config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata:\n  k: 'on'\n  host: blog.example.org\n  long: |\n    two\n    lines\n",
    ),
    (
        "set.yaml",
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: data}\nspec:\n  serviceName: web\n  selector: {matchLabels: {tier: db}}\n  template:\n    metadata: {labels: {tier: db}}\n    spec:\n      containers:\n      - {name: main, image: 'web:5', volumeMounts: [{name: data, mountPath: /d}]}\n  volumeClaimTemplates:\n  - metadata: {name: data}\n    spec: {storageClassName: fast}\n",
    ),
    (
        "ingress.yaml",
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, annotations: {a: \"1.0\"}}\nspec:\n  tls: [{secretName: keys}]\n  rules:\n  - host: blog.example.org\n    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 8080}}}}]}\n",
    ),
    (
        "others.yaml",
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: run}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: run}\nsubjects: [{kind: ServiceAccount, name: runner}, {kind: ServiceAccount, name: default, namespace: old}]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: run}\nrules: [{apiGroups: [''], resources: [configmaps], resourceNames: [conf], verbs: [get]}]\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: fast}\n",
    ),
    (
        "custom.yaml",
        "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: web}\nspec: {items: [{name: a}, {name: b}], ref: conf, selector: {matchLabels: {x: y}}}\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: tidy}\nspec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: web}]}}}}}\n",
    ),
];

/// Files that fields name.
const BESIDE: &[(&str, &str)] = &[
    ("e.env", "A=1\n# c\nB=two words\nC\n"),
    (
        "p.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      - name: main\n        env: [{name: A, value: \"2\"}, {name: Z, value: z}]\n        resources: {limits: {memory: 1Gi}}\n      - {name: fresh, image: web}\n      volumes: [{name: v, $patch: delete}]\n",
    ),
    (
        "s.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {new: x}}\nspec: {type: ClusterIP, selector: null, ports: [{port: 8080, name: web}, {port: 9090, name: more}]}\n",
    ),
    ("d.yaml", "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n$patch: delete\n"),
    (
        "j.yaml",
        "- {op: replace, path: /metadata/labels/tier, value: back}\n- {op: add, path: /metadata/annotations, value: {j: yes}}\n- {op: remove, path: /spec/replicas}\n",
    ),
    (
        "part/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {part: here}\nreplicas: [{name: web, count: 9}]\n",
    ),
    ("sub/service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: below}\nspec: {selector: {tier: below}}\n"),
];

/// Draws a directory with a kustomization; now and then it has another directory below.
fn directory(chance: &mut Chance) -> Vec<(String, String)> {
    let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    let mut files: Vec<(String, String)> = BESIDE.iter().map(owned).collect();
    let mut resources = vec!["deployment.yaml".to_owned()];
    files.push(owned(&OBJECTS[0]));
    for object in &OBJECTS[1..] {
        if !chance.one_in(3) {
            files.push(owned(object));
            resources.push(object.0.to_owned());
        }
    }
    if chance.one_in(4) {
        resources.push("sub".to_owned());
        let text = fields(chance, 2, &["components", "patches", "replicas", "images"]);
        files.push(("sub/kustomization.yaml".to_owned(), format!("resources: [service.yaml]\n{text}")));
        files.push(("sub/e.env".to_owned(), BESIDE[0].1.to_owned()));
    }
    let text = fields(chance, 6, &[]);
    files.push(("kustomization.yaml".to_owned(), format!("resources: [{}]\n{text}", resources.join(", "))));
    files
}

/// Draws some fields, without those that are left out.
fn fields(chance: &mut Chance, most: usize, without: &[&str]) -> String {
    let mut text = String::new();
    let count = chance.below(most + 1);
    let mut names: Vec<usize> = (0..FIELDS.len()).collect();
    for _ in 0..count {
        let (name, values) = FIELDS[names.remove(chance.below(names.len()))];
        if !without.contains(&name) {
            text.push_str(&format!("{name}: {}\n", chance.of(values)));
        }
    }
    text
}
