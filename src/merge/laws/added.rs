//! Pure. Both sides add an entry, and each does something of its own with the entry beside it: over kinds of lists and maps, states of that entry
//! and places of the added one. How the texts were made says what must come out, byte for byte.
//!
//! The added entry is made as like the other one as its key allows, so that whoever guesses what an entry became guesses wrong.

use super::super::conflict::ConflictKind;
use super::super::file::merge_file;
use super::super::rules::Rules;
use super::super::tree::Three;
use super::path;

/// What stands above the entries, and an entry: `$N` is what tells it apart, `$P` and `$Q` are values in it.
type Form = (&'static str, &'static str);

const POD: &str = "kind: Deployment\nmetadata: {name: ledger}\nspec:\n  template:\n    spec:\n";

const FORMS: [Form; 22] = [
    (
        "kind: Deployment\nmetadata: {name: ledger}\nspec:\n  template:\n    spec:\n      containers:\n      - name: ledger\n        env:\n",
        "        - name: $N\n          valueFrom:\n            secretKeyRef:\n              name: $P\n              key: $Q\n",
    ),
    (
        "kind: Deployment\nmetadata: {name: ledger}\nspec:\n  template:\n    spec:\n      containers:\n      - name: ledger\n        volumeMounts:\n",
        "        - mountPath: /$N\n          name: $P\n          subPath: $Q\n          readOnly: true\n",
    ),
    (POD, "      $N: $P\n"),
    (
        "kind: Deployment\nmetadata: {name: ledger}\nspec:\n  template:\n    spec:\n      containers:\n",
        "      - name: $N\n        image: $P\n        imagePullPolicy: $Q\n        tty: true\n",
    ),
    (
        "kind: Deployment\nmetadata: {name: ledger}\nspec:\n  template:\n    spec:\n      volumes:\n",
        "      - name: $N\n        csi:\n          driver: $P\n          fsType: $Q\n          readOnly: true\n",
    ),
    (
        "kind: Deployment\nmetadata: {name: ledger}\nspec:\n  template:\n    spec:\n      tolerations:\n",
        "      - key: $N\n        operator: Exists\n        effect: NoSchedule\n        tolerationSeconds: $P\n",
    ),
    (
        "kind: StatefulSet\nmetadata: {name: ledger}\nspec:\n  volumeClaimTemplates:\n",
        "  - metadata:\n      name: $N\n    spec:\n      storageClassName: $P\n      volumeMode: $Q\n",
    ),
    (
        "kind: ValidatingWebhookConfiguration\nmetadata: {name: gate}\nwebhooks:\n",
        "- name: $N.gate.test\n  failurePolicy: $P\n  matchPolicy: $Q\n  sideEffects: None\n",
    ),
    (
        "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: shop}\nspec:\n  groups:\n  - name: shop\n    rules:\n",
        "    - alert: $N\n      expr: $P\n      for: $Q\n      labels: {severity: page}\n",
    ),
    (
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: shop}\nspec:\n  rules:\n",
        "  - host: $N.shop.test\n    http:\n      paths:\n      - path: /\n        pathType: Prefix\n        backend:\n          service:\n            name: $P\n            port: {name: $Q}\n",
    ),
    ("kind: RoleBinding\nmetadata: {name: read}\nsubjects:\n", "- kind: User\n  name: $N\n  namespace: shop\n"),
    (
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: wall}\nspec:\n  podSelector: {}\n  ingress:\n",
        "  - from:\n    - podSelector:\n        matchLabels: {app: $N, tier: $P}\n    ports:\n    - port: $Q\n    - port: 9000\n",
    ),
    (
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: docs}\nspec:\n  rules:\n",
        "  - matches:\n    - path:\n        type: PathPrefix\n        value: /$N\n    backendRefs:\n    - name: $P\n      port: 80\n    timeouts:\n      request: $Q\n",
    ),
    ("slots:\n", "- colour: $N\n  size: $P\n  weight: $Q\n  shape: round\n"),
    ("kind: ConfigMap\nmetadata: {name: all}\ndata:\n", "  $N: $P\n"),
    ("routes:\n", "  $N:\n    to: $P\n    after: $Q\n    kept: true\n"),
    (
        "apiVersion: pit.example/v1\nkind: Pit\nmetadata: {name: deep}\nspec:\n  layers:\n",
        "  - name: $N\n    colour: $P\n    hardness: $Q\n    wet: no\n",
    ),
    (
        "apiVersion: pit.example/v1\nkind: Pit\nmetadata: {name: deep}\nspec:\n  steps:\n",
        "  - dig: $N\n    depth: $P\n    width: $Q\n    wet: no\n",
    ),
    (
        "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: vault}\nspec:\n  data:\n",
        "  - secretKey: $N\n    remoteRef:\n      key: $P\n      property: $Q\n      version: one\n",
    ),
    (
        "kind: Service\nmetadata: {name: shop}\nspec:\n  ports:\n",
        "  - port: $N\n    targetPort: $P\n    appProtocol: $Q\n    protocol: TCP\n",
    ),
    (
        "kind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      imagePullSecrets:\n",
        "      - name: $N\n",
    ),
    ("kind: ServiceAccount\nmetadata: {name: a}\nsecrets:\n", "- name: $N\n  namespace: shop\n"),
];

/// What stands in entries of lists without a key.
const KEYLESS: [&str; 4] = ["podSelector", "timeouts", "colour: $N", "dig: $N"];

/// What a side does with the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Kept,
    First,
    Second,
    Deleted,
}

const STATES: [State; 4] = [State::Kept, State::First, State::Second, State::Deleted];

fn entry(form: &str, name: &str, [first, second]: [&str; 2]) -> String {
    form.replace("$N", name).replace("$P", first).replace("$Q", second)
}

/// Makes what a state leaves of the entry; `values` are those that a side gives it.
fn left(form: &str, state: State, [first, second]: [&str; 2]) -> String {
    match state {
        State::Kept => entry(form, "gone", ["1", "2"]),
        State::First => entry(form, "gone", [first, "2"]),
        State::Second => entry(form, "gone", ["1", second]),
        State::Deleted => String::new(),
    }
}

/// Returns what must become of the entry, and what must be left to decide.
fn expected(form: &str, mine: State, upstream: State) -> (String, Option<ConflictKind>) {
    let (ours, theirs) = (left(form, mine, ["3", "4"]), left(form, upstream, ["5", "6"]));
    match (mine, upstream) {
        (State::Kept, _) => (theirs, None),
        (_, State::Kept) | (State::Deleted, State::Deleted) => (ours, None),
        (State::First | State::Second, State::Deleted) => (ours, Some(ConflictKind::EditDelete)),
        (State::Deleted, State::First | State::Second) => (ours, Some(ConflictKind::DeleteEdit)),
        (State::First, State::Second) => (entry(form, "gone", ["3", "6"]), None),
        (State::Second, State::First) => (entry(form, "gone", ["5", "4"]), None),
        (State::First, State::First) | (State::Second, State::Second) => (ours, Some(ConflictKind::Value)),
    }
}

#[test]
fn what_both_sides_added_is_there_once_whatever_they_do_with_the_entry_beside_it() {
    let mut wrong = Vec::new();
    let mut cells = 0;
    for (above, form) in FORMS {
        let can = |state: &State| match state {
            State::Kept | State::Deleted => true,
            State::First => form.contains("$P"),
            State::Second => form.contains("$Q"),
        };
        // With values of its own, and as like the other entry as can be; without a key nobody could tell the two apart then.
        let added = [entry(form, "fresh", ["7", "8"]), entry(form, "fresh", ["1", "2"])];
        let is_keyed = !KEYLESS.iter().any(|field| form.contains(field));
        for (number, added) in added.iter().enumerate().take(if is_keyed { 2 } else { 1 }) {
            for place in 0..3 {
                for has_neighbours in [true, false] {
                    let [first, last] = ["early", "late"].map(|name| entry(form, name, ["a", "b"]));
                    let around = |inner: String| match has_neighbours {
                        true => format!("{above}{first}{inner}{last}"),
                        false => format!("{above}{inner}"),
                    };
                    let with = |entry: &str| match place {
                        0 => around(format!("{added}{entry}")),
                        1 => around(format!("{entry}{added}")),
                        _ => format!("{}{added}", around(entry.to_owned())),
                    };
                    for mine in STATES.into_iter().filter(can) {
                        for upstream in STATES.into_iter().filter(can) {
                            let base = around(left(form, State::Kept, ["1", "2"]));
                            let ours = with(&left(form, mine, ["3", "4"]));
                            let theirs = with(&left(form, upstream, ["5", "6"]));
                            let texts = Three { base: Some(&*base), ours: Some(&*ours), theirs: Some(&*theirs) };
                            let merged = merge_file(&path(), texts, &Rules::default());
                            let (entry, conflict) = expected(form, mine, upstream);
                            let found: Vec<ConflictKind> = merged.conflicts.iter().map(|found| found.kind).collect();
                            cells += 1;
                            if merged.text.as_deref() != Some(&*with(&entry)) || found != Vec::from_iter(conflict) {
                                let text = merged.text.unwrap_or_default();
                                wrong.push(format!(
                                    "{form}{mine:?} {upstream:?}, added {number} at {place}, neighbours {has_neighbours}: {found:?} for \
                                     {conflict:?}\n{text}"
                                ));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{} of {cells} are wrong", wrong.join("\n"), wrong.len());
}
