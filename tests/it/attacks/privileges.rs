//! Packages whose pods ask for more of the machine than the baseline of the Pod Security Standards gives: none is installed, by whatever version or
//! kind it comes, before the instance grants it to the app.
//!
//! Not here: every field and every place of a pod (`schema::pods`).

use super::consent::wild;
use crate::commits::commit;
use crate::world::World;

/// A word of a grant, fields of a pod, fields of its container, and an annotation that ask for it.
const ASKED: [(&str, &str, &str, &str); 16] = [
    ("hostNetwork", "hostNetwork: true", "", ""),
    ("hostPID", "hostPID: true", "", ""),
    ("hostIPC", "hostIPC: true", "", ""),
    ("hostPath", "volumes: [{name: v, hostPath: {path: /}}]", "", ""),
    ("sysctls", "securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}", "", ""),
    ("seccomp", "securityContext: {seccompProfile: {type: Unconfined}}", "", ""),
    ("seccomp", "", "", "seccomp.security.alpha.kubernetes.io/pod: unconfined"),
    ("appArmor", "", "securityContext: {appArmorProfile: {type: Unconfined}}", ""),
    ("appArmor", "", "", "container.apparmor.security.beta.kubernetes.io/main: unconfined"),
    ("seLinux", "", "securityContext: {seLinuxOptions: {type: spc_t}}", ""),
    ("hostProcess", "securityContext: {windowsOptions: {hostProcess: true}}", "", ""),
    ("privileged", "", "securityContext: {privileged: true}", ""),
    ("capabilities", "", "securityContext: {capabilities: {add: [SYS_ADMIN]}}", ""),
    ("procMount", "", "securityContext: {procMount: Unmasked}", ""),
    ("hostPort", "", "ports: [{containerPort: 80, hostPort: 80}]", ""),
    ("hostProbe", "", "livenessProbe: {httpGet: {host: 169.254.169.254, port: 80}}", ""),
];

/// A pod template with fields in it.
fn template((spec, container, annotation): (&str, &str, &str)) -> String {
    let comma = |fields: &str| if fields.is_empty() { String::new() } else { format!(", {fields}") };
    format!(
        "{{metadata: {{labels: {{component: web}}, annotations: {{{annotation}}}}}, spec: {{restartPolicy: OnFailure, containers: [{{name: main, image: \
         'registry.example.invalid/a:1'{}}}]{}}}}}",
        comma(container),
        comma(spec)
    )
}

/// Publishes a version of a package that brings one object beside a ConfigMap.
async fn publish(world: &World, version: usize, object: &str) {
    let files = [
        ("evil/manifest.yaml", format!("version: '{version}'\n")),
        ("evil/kustomization.yaml", "namespace: evil\nresources: [map.yaml, object.yaml]\n".to_owned()),
        ("evil/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil}\ndata: {a: b}\n".to_owned()),
        ("evil/object.yaml", object.to_owned()),
    ];
    let files: Vec<(&str, Option<&str>)> = files.iter().map(|(path, text)| (*path, Some(text.as_str()))).collect();
    commit(&world.upstream, "main", &format!("evil: version {version}"), &files).await;
    world.fetch().await;
}

fn deployment(template: &str) -> String {
    let template = template.replace("OnFailure", "Always");
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{component: web}}}}\n  template: {template}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_that_asks_for_more_of_the_machine_is_not_installed_until_that_is_granted() {
    let world = World::start(&["quickcache 7.0"]).await;
    for (version, (word, spec, container, annotation)) in ASKED.iter().enumerate() {
        publish(&world, version + 1, &deployment(&template((spec, container, annotation)))).await;
        let (code, out) = wild(&world, "wild app add evil --yes").await;
        assert!(code != 0 && out.notes.contains("L018"), "{word}: {code} {out:?}");
        assert!(out.notes.contains(&format!("add {word} to apps.evil.grants.pod")), "{word}: {out:?}");
        assert!(world.state("evil").await.is_none());
    }
    // A grant of one is none of another.
    world.set("apps: {evil: {grants: {pod: [hostPort]}}}\n").await;
    assert!(wild(&world, "wild app add evil").await.1.notes.contains("add hostProbe to"));
    world.edit(".wild/config.yaml", "pod: [hostPort]", "pod: [hostProbe]").await;
    let (code, out) = wild(&world, "wild app add evil").await;
    assert_eq!(code, 0, "{out:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_asks_for_more_of_the_machine_is_not_taken_by_whatever_kind_it_comes() {
    let world = World::start(&["quickcache 7.0"]).await;
    publish(&world, 1, &deployment(&template(("", "", "")))).await;
    assert_eq!(wild(&world, "wild app add evil").await.0, 0);
    let template = template(("", "ports: [{containerPort: 80, hostPort: 80}]", ""));
    let object = |head: &str, spec: &str| format!("{head}\nmetadata: {{name: web2}}\n{spec}\n");
    let selector = "selector: {matchLabels: {component: web}}";
    let cron = format!("spec: {{schedule: '@daily', jobTemplate: {{spec: {{template: {template}}}}}}}");
    let always = template.replace("OnFailure", "Always");
    let objects = [
        object("apiVersion: apps/v1\nkind: StatefulSet", &format!("spec: {{{selector}, template: {always}}}")),
        object("apiVersion: apps/v1\nkind: DaemonSet", &format!("spec: {{{selector}, template: {always}}}")),
        object("apiVersion: apps/v1\nkind: ReplicaSet", &format!("spec: {{{selector}, template: {always}}}")),
        object("apiVersion: batch/v1\nkind: Job", &format!("spec: {{template: {template}}}")),
        object("apiVersion: batch/v1\nkind: CronJob", &cron),
        object("apiVersion: v1\nkind: PodTemplate", &format!("template: {template}")),
        object("apiVersion: example.org/v1\nkind: Rollout", &format!("spec: {{strategy: {{}}, template: {template}}}")),
    ];
    for (version, object) in objects.iter().enumerate() {
        publish(&world, version + 2, object).await;
        let (code, out) = wild(&world, "wild app update evil --yes").await;
        assert!(
            code != 0 && out.notes.contains("container main asks for the port 80 of the machine"),
            "{object}: {out:?}"
        );
        assert!(world.file("main", "apps/evil/manifest.yaml").await.unwrap().contains("version: '1'"));
    }
    world.set("apps: {evil: {grants: {pod: [hostPort]}}}\n").await;
    let (code, out) = wild(&world, "wild app update evil --yes").await;
    assert_eq!(code, 0, "{out:?}");
}
