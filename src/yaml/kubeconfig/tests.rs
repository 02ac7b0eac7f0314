//! Pure. What a kubeconfig may say and what it may not, one row each.

use serde_json::json;

use super::*;

const DIRECTORY: &str = "/state/instances/k3f7";

fn read(text: &str) -> Result<Kubeconfig, KubeFault> {
    Kubeconfig::read(text.as_bytes(), KubeFiles::In(DIRECTORY), KubePrograms::Refused)
}

/// Returns a kubeconfig with one context, whose cluster and user hold these fields.
fn of(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: home\ncontexts:\n- name: home\n  context: {{cluster: one, user: me}}\n\
         clusters:\n- name: one\n  cluster: {{{cluster}}}\nusers:\n- name: me\n  user: {{{user}}}\n"
    )
}

/// The rule that refuses the only context, or what is passed on of it.
fn judged(cluster: &str, user: &str) -> Result<Value, KubeRule> {
    let read = read(&of(cluster, user)).map_err(|fault| fault.rule)?;
    match read.context("home").unwrap() {
        Ok(context) => Ok(json!([context.cluster, context.user])),
        Err(fault) => Err(fault.rule),
    }
}

const HTTPS: &str = "server: 'https://api.example.org'";

#[test]
fn every_field_that_could_lead_elsewhere_is_refused() {
    use KubeRule::*;
    let of_cluster = |field: &str, rule| assert_eq!(judged(&format!("{HTTPS}, {field}"), ""), Err(rule), "{field}");
    let of_user = |field: &str, rule| assert_eq!(judged(HTTPS, field), Err(rule), "{field}");
    // The check of the server's certificate.
    for value in ["true", "yes", "'true'", "1", "on", "[]", "{}"] {
        of_cluster(&format!("insecure-skip-tls-verify: {value}"), Insecure);
    }
    // Proxies.
    for value in ["'http://10.0.0.1:3128'", "'socks5://localhost'", "1", "[a]"] {
        of_cluster(&format!("proxy-url: {value}"), Proxy);
    }
    // Programs, also such as do nothing.
    for value in ["{command: get-token}", "{apiVersion: x}", "/bin/sh", "[a]", "true"] {
        of_user(&format!("exec: {value}"), Program);
        of_user(&format!("auth-provider: {value}"), Program);
    }
    of_user("token: abc, exec: {command: get-token}", Program);
    // Files elsewhere.
    for path in [
        "/etc/shadow",
        "../kubeconfig",
        "a/../../b",
        "/state/instances/k3f7x/ca",
        "/state/instances/k3f7/../x",
        "./ca",
        "a//b",
        "/",
    ] {
        of_cluster(&format!("certificate-authority: {path}"), File);
        for field in ["tokenFile", "client-certificate", "client-key"] {
            of_user(&format!("{field}: {path}"), File);
        }
    }
    // Rights that would not be asked for.
    of_user("as: alice, as-uid: '7'", Impersonation);
    of_user("as: alice, as-user-extra: {scopes: [a]}", Impersonation);
    // What is no text where one is wanted.
    of_user("token: 1", Value);
    of_user("as-groups: admins", Value);
    of_cluster("certificate-authority-data: [a]", Value);
    of_cluster("certificate-authority-data: no base64", Encoding);
    of_user("client-key-data: hunter2!", Encoding);
    // Addresses.
    for (server, rule) in [("'http://10.0.0.1'", Plain), ("''", Server), ("'https://a@b'", Server), ("7", Value)] {
        assert_eq!(judged(&format!("server: {server}"), ""), Err(rule), "{server}");
    }
}

#[test]
fn what_is_harmless_is_passed_on_and_nothing_else() {
    let judged = |cluster: &str, user: &str| judged(&format!("{HTTPS}, {cluster}"), user).unwrap();
    let server = "https://api.example.org";
    let found = judged(
        "certificate-authority-data: Y2E=, tls-server-name: api, insecure-skip-tls-verify: false, proxy-url: '', extensions: [{name: x}], unknown: 1",
        "token: t, exec: null, auth-provider: {}, as: alice, as-groups: [a], unknown: {exec: {command: x}}, extensions: []",
    );
    let cluster = json!({"certificate-authority-data": "Y2E=", "tls-server-name": "api", "server": server});
    assert_eq!(found, json!([cluster, {"token": "t", "as": "alice", "as-groups": ["a"]}]));
    // Files of its own directory, by both ways of writing; data wins over a file.
    let found = judged("certificate-authority: ca.pem", "tokenFile: /state/instances/k3f7/tokens/one");
    assert_eq!(
        found,
        json!([{"certificate-authority": "ca.pem", "server": server}, {"tokenFile": "/state/instances/k3f7/tokens/one"}])
    );
    let found =
        judged("certificate-authority: /etc/x, certificate-authority-data: Y2E=", "token: t, tokenFile: /etc/x");
    assert_eq!(found, json!([{"certificate-authority-data": "Y2E=", "server": server}, {"token": "t"}]));
}

#[test]
fn one_context_that_is_refused_takes_no_other_with_it() {
    let text = "kind: Config\ncontexts:\n- {name: a, context: {cluster: one, user: bad}}\n- {name: b, context: {cluster: one, user: good}}\n\
                - {name: c, context: {cluster: two, user: good}}\n- {name: d, context: {cluster: gone, user: good}}\n\
                clusters:\n- {name: one, cluster: {server: 'https://a'}}\n- name: two\n  cluster:\n    server: https://a\n    proxy-url: x\n\
                users:\n- {name: bad, user: {exec: {}, auth-provider: {name: gcp}}}\n- {name: good, user: {token: hunter2}}\n";
    let read = read(text).unwrap();
    let said = |name: &str| match read.context(name).unwrap() {
        Ok(context) => format!("{context:?}"),
        Err(fault) => fault.to_string(),
    };
    assert!(said("a").starts_with("line 14: user \"bad\": auth-provider: it would run a program"), "{}", said("a"));
    assert_eq!(said("b"), "KubeContext(https://a)");
    assert_eq!(said("c"), "line 12: cluster \"two\": proxy-url: what is sent would pass through a proxy");
    assert_eq!(said("d"), "line 6: context \"d\": cluster: it is not there");
    assert!(!format!("{read:?}").contains("hunter2"));
}

#[test]
fn a_file_that_is_none_is_refused_as_a_whole_and_quotes_nothing() {
    use KubeRule::*;
    for (text, rule) in [
        ("", Kind),
        ("kind: Secret\n", Kind),
        ("[]", Kind),
        ("kind: [Config]\n", Kind),
        ("kind: Config\nusers: {token: hunter2}\n", Value),
        ("kind: Config\ncurrent-context: [a]\n", Value),
        ("kind: Config\n--- \nkind: Config\n", Yaml),
        ("kind: Config\nkind: Config\n", Twice),
        ("kind: Config\nclusters: [{name: a, cluster: {server: x, server: y}}]\n", Twice),
        ("token: 'hunter2\n", Yaml),
        ("kind: Config\nusers: [{name: a}, {name: a, user: {token: hunter2}}]\n", Twice),
        ("kind: Config\nclusters: [{name: a}, {name: b}, {name: a}]\n", Twice),
        ("kind: Config\ncontexts: [{name: a}, {name: a}]\n", Twice),
    ] {
        let fault = read(text).unwrap_err();
        assert_eq!(fault.rule, rule, "{text:?}");
        assert!(!format!("{fault} {fault:?}").contains("hunter2"), "{fault}");
    }
    assert_eq!(
        Kubeconfig::read(b"kind: Config\n# \xff", KubeFiles::Any, KubePrograms::Refused).unwrap_err().rule,
        Yaml
    );
    let large = vec![b'#'; MAX_KUBECONFIG_BYTES + 1];
    assert_eq!(Kubeconfig::read(&large, KubeFiles::Any, KubePrograms::Refused).unwrap_err().rule, Size);
    assert_eq!(read("kind: Config\n").unwrap(), Kubeconfig { current: String::new(), contexts: Vec::new() });
}

#[test]
fn what_is_written_anew_reads_as_the_same_and_files_can_stand_in_it() {
    let text = of("server: 'https://a', certificate-authority: ca.pem", "client-certificate: c.pem, client-key: k.pem");
    let read = |text: &str| Kubeconfig::read(text.as_bytes(), KubeFiles::Any, KubePrograms::LeftOut).unwrap();
    let mut context = read(&text).context("home").unwrap().clone().unwrap();
    assert_eq!(
        context.files(),
        [("certificate-authority", "ca.pem"), ("client-certificate", "c.pem"), ("client-key", "k.pem")]
    );
    for field in ["certificate-authority", "client-certificate", "client-key"] {
        context.inline(field, "Y2E=".to_owned());
    }
    assert_eq!((context.files(), context.authority()), (Vec::new(), "Y2E="));
    let again = read(&crate::yaml::write(&context.alone("home")));
    assert_eq!(again.context("home").unwrap().as_ref(), Ok(&context));
    let program =
        read(&of("server: 'https://a'", "exec: {command: x}, token: t")).context("home").unwrap().clone().unwrap();
    assert!(program.runs_program && program.user.is_empty());
}
