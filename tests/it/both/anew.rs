//! Fields that cannot be changed once an object exists: made anew by itself, on a person's word, or never.

use serde_json::{Value, json};

use rewild::pipeline;

use super::{Plain, config, workload};
use crate::world::{Ground, World, app};

/// Waits until the plan of an app says this of an object, which takes no request that writes.
async fn is_foretold<C: Ground>(plain: &Plain<'_, C>, object: &str, says: &[&str]) {
    let told = async || {
        let preview = pipeline::preview(plain.world.handle.instance(), &app(plain.name), None).await;
        let actions = preview.ok().and_then(|preview| preview.plan).map(|plan| plan.actions).unwrap_or_default();
        let mut all = actions.iter().filter(|action| action.object.short() == object);
        all.any(|action| says.iter().all(|text| action.reason.contains(text)))
    };
    plain.world.until(&format!("the plan of {} says of {object}: {says:?}", plain.name), told).await;
}

fn classes(version: u8) -> String {
    format!(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: anew}}\nvalue: {version}\n---\n\
         apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {{name: anew}}\nspec: {{controller: example.org/c{version}}}\n---\n\
         apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {{name: anew}}\nhandler: h{version}\n---\n\
         apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: anew}}\nprovisioner: example.org/p{version}\n"
    )
}

fn frozen(name: &str, annotations: &str, version: u8) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\nimmutable: true\ndata: {{version: \"{version}\"}}\n"
    )
}

fn binding(version: u8) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: binding}}\nsubjects: [{{kind: ServiceAccount, name: default}}]\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: role{version}}}\n"
    )
}

/// A Job that does not begin, or one that cannot end.
fn job(suspended: bool, version: u8) -> String {
    let selector = if suspended { "" } else { "\n      nodeSelector: {no: node}" };
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: job, annotations: {{rewild.dev/health: ignore}}}}\nspec:\n  suspend: {suspended}\n  template:\n    \
         spec:\n      restartPolicy: Never{selector}\n      containers:\n      - {{name: run, image: \"registry.example.invalid/run:{version}\"}}\n"
    )
}

/// §10: what takes nothing with it.
pub(super) async fn what_holds_nothing_is_made_anew_by_itself<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "anew" };
    let push = async |version: u8| {
        let label = format!("v{version}");
        let web = workload("Deployment", "web", (&label, "1"), "")
            .replace("{name: web}", "{name: web, annotations: {rewild.dev/recreate: allow}}");
        let secret = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: typed}}\ntype: example.org/t{version}\n");
        let (binding, job) = (binding(version), job(true, version));
        let (classes, frozen) = (classes(version), frozen("frozen", "", version));
        plain
            .push(&[
                ("classes.yaml", &classes),
                ("frozen.yaml", &frozen),
                ("binding.yaml", &binding),
                ("job.yaml", &job),
                ("typed.yaml", &secret),
                ("web.yaml", &web),
            ])
            .await
    };
    let first = push(1).await;
    plain.done(&first).await;
    let mut paths = [
        "scheduling.k8s.io/v1/priorityclasses",
        "networking.k8s.io/v1/ingressclasses",
        "node.k8s.io/v1/runtimeclasses",
        "storage.k8s.io/v1/storageclasses",
    ]
    .map(|path| format!("/apis/{path}/anew"))
    .to_vec();
    paths.push(plain.path("v1", "configmaps", "frozen"));
    paths.push(plain.path("v1", "secrets", "typed"));
    paths.push(plain.path("rbac.authorization.k8s.io/v1", "rolebindings", "binding"));
    paths.push(plain.path("batch/v1", "jobs", "job"));
    paths.push(plain.path("apps/v1", "deployments", "web"));
    let before = plain.uids(&paths).await;
    assert!(before.iter().all(Value::is_string), "{before:?}");
    let second = push(2).await;
    plain.done(&second).await;
    let after = plain.uids(&paths).await;
    for (path, (before, after)) in paths.iter().zip(before.iter().zip(&after)) {
        assert!(after.is_string() && before != after, "{path} was not made anew");
    }
    assert_eq!(plain.config("frozen").await["data"]["version"], json!("2"));
}

/// §10: what serves somebody, each object of its own.
pub(super) async fn what_runs_is_made_anew_only_when_a_person_says_so<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "asked" };
    let push = async |version: u8| {
        let label = format!("v{version}");
        let set = workload("StatefulSet", "db", ("db", "1"), &format!("  serviceName: db{version}\n"));
        let daemon = workload("DaemonSet", "agent", (&label, "1"), "");
        let replicas = workload("ReplicaSet", "copies", (&label, "1"), "");
        let address = if version == 1 { "" } else { "  clusterIP: 10.0.77.77\n" };
        let service = format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n{address}  ports: [{{port: 80}}]\n"
        );
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: solo}}\nspec:\n  containers:\n  - {{name: main, image: \"registry.example.invalid/main:1\", args: [\"{version}\"]}}\n"
        );
        let job = job(false, version);
        plain
            .push(&[
                ("set.yaml", &set),
                ("daemon.yaml", &daemon),
                ("replicas.yaml", &replicas),
                ("service.yaml", &service),
                ("pod.yaml", &pod),
                ("job.yaml", &job),
            ])
            .await
    };
    let first = push(1).await;
    plain.done(&first).await;
    let paths = [
        plain.path("apps/v1", "statefulsets", "db"),
        plain.path("apps/v1", "daemonsets", "agent"),
        plain.path("apps/v1", "replicasets", "copies"),
        plain.path("v1", "services", "web"),
        plain.path("v1", "pods", "solo"),
        plain.path("batch/v1", "jobs", "job"),
    ];
    let before = plain.uids(&paths).await;
    let pod = plain.uid(&plain.path("v1", "pods", "db-0")).await;
    assert!(pod.is_string());
    let second = push(2).await;
    plain.stands_for("RecreateNeedsApproval", &["--recreate "]).await;
    is_foretold(&plain, "StatefulSet/db", &["needs approval", "spec.serviceName", "--recreate StatefulSet/db"]).await;
    is_foretold(&plain, "DaemonSet/agent", &["needs approval", "spec.selector cannot be changed"]).await;
    is_foretold(&plain, "Job/job", &["spec.template cannot be changed"]).await;
    is_foretold(&plain, "Pod/solo", &["needs approval", "spec.containers cannot be changed"]).await;
    world.look_again(plain.name).await;
    assert_eq!(plain.uids(&paths).await, before, "nobody allowed that");
    plain
        .allow(&["StatefulSet/db", "DaemonSet/agent", "ReplicaSet/copies", "Service/web", "Pod/solo", "Job/job"])
        .await;
    plain.done(&second).await;
    let after = plain.uids(&paths).await;
    for (path, (before, after)) in paths.iter().zip(before.iter().zip(&after)) {
        assert!(after.is_string() && before != after, "{path} was not made anew");
    }
    assert_eq!(plain.uid(&plain.path("v1", "pods", "db-0")).await, pod, "the pods of a set go on without it");
    assert_eq!(plain.live("v1", "services", "web").await["spec"]["clusterIP"], json!("10.0.77.77"));
}

/// §10: a claim, and whatever an author says stays.
pub(super) async fn what_holds_data_and_what_its_author_keeps_is_never_made_anew<C: Ground>(world: &World<C>) {
    let plain = Plain { world, name: "never" };
    let push = async |version: u8| {
        let mode = if version == 1 { "ReadWriteOnce" } else { "ReadWriteMany" };
        let claim = format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data}}\nspec:\n  accessModes: [{mode}]\n  resources: {{requests: {{storage: 1Gi}}}}\n"
        );
        let frozen = frozen("frozen", "rewild.dev/recreate: never", version);
        let rest = config("rest", &version.to_string());
        plain.push(&[("claim.yaml", &claim), ("frozen.yaml", &frozen), ("rest.yaml", &rest)]).await
    };
    let first = push(1).await;
    plain.done(&first).await;
    let paths = [plain.path("v1", "persistentvolumeclaims", "data"), plain.path("v1", "configmaps", "frozen")];
    let before = plain.uids(&paths).await;
    push(2).await;
    plain.stands_for("ApplyFailed", &["never made anew"]).await;
    is_foretold(&plain, "PersistentVolumeClaim/data", &["never made anew", "spec.accessModes"]).await;
    is_foretold(&plain, "ConfigMap/frozen", &["never made anew", "data cannot be changed"]).await;
    plain.allow(&["PersistentVolumeClaim/data", "ConfigMap/frozen"]).await;
    assert_eq!(plain.uids(&paths).await, before, "a word of a person is not enough");
    assert_eq!(plain.config("rest").await["data"]["version"], json!("2"), "the rest goes on");
    let last = push(1).await;
    plain.done(&last).await;
}
