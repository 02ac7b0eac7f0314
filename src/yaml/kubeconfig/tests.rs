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

/// What a certificate is by its form, and a key.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";
const KEY: &str = "-----BEGIN EC PRIVATE KEY-----\nMAMCAQE=\n-----END EC PRIVATE KEY-----\n";

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
    let authority = STANDARD.encode(CERTIFICATE);
    let found = judged(
        &format!(
            "certificate-authority-data: {authority}, tls-server-name: api, insecure-skip-tls-verify: false, proxy-url: '', extensions: [{{name: x}}], unknown: 1"
        ),
        "token: t, exec: null, auth-provider: {}, as: alice, as-groups: [a], unknown: {exec: {command: x}}, extensions: []",
    );
    let cluster = json!({"certificate-authority-data": authority, "tls-server-name": "api", "server": server});
    assert_eq!(found, json!([cluster, {"token": "t", "as": "alice", "as-groups": ["a"]}]));
    // Files of its own directory, by both ways of writing; data wins over a file.
    let found = judged("certificate-authority: ca.pem", "tokenFile: /state/instances/k3f7/tokens/one");
    assert_eq!(
        found,
        json!([{"certificate-authority": "ca.pem", "server": server}, {"tokenFile": "/state/instances/k3f7/tokens/one"}])
    );
    let both = format!("certificate-authority: /etc/x, certificate-authority-data: {authority}");
    let found = judged(&both, "token: t, tokenFile: /etc/x");
    assert_eq!(found, json!([{"certificate-authority-data": authority, "server": server}, {"token": "t"}]));
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
    for (field, content) in
        [("certificate-authority", CERTIFICATE), ("client-certificate", CERTIFICATE), ("client-key", KEY)]
    {
        context.inline(field, content.as_bytes()).unwrap();
    }
    assert_eq!((context.files(), context.authority()), (Vec::new(), STANDARD.encode(CERTIFICATE).as_str()));
    let again = read(&crate::yaml::write(&context.alone("home")));
    assert_eq!(again.context("home").unwrap().as_ref(), Ok(&context));
    let program =
        read(&of("server: 'https://a'", "exec: {command: x}, token: t")).context("home").unwrap().clone().unwrap();
    assert!(program.runs_program && program.user.is_empty());
}

/// Bytes that no header takes, with the way YAML writes them.
fn bad_texts() -> Vec<(&'static str, String)> {
    let escaped =
        ["a\nb", "a\rb", "a\r\nImpersonate-User: root", "a\0b", "a\u{7f}b", "a\u{1b}b", "\n", "a\n", "\na", "\u{85}"];
    let mut texts: Vec<(&str, String)> = escaped
        .into_iter()
        .map(|text| (text, serde_json::to_string(text).unwrap().replace('\u{7f}', "\\x7f").replace('\u{85}', "\\x85")))
        .collect();
    texts.push(("1 MiB", format!("'{}'", "a".repeat(1024 * 1024))));
    texts
}

#[test]
fn what_becomes_a_header_and_does_not_fit_in_one_is_refused_by_field_and_line() {
    let token = |text: &str| judged(HTTPS, text).map(|_| ()).map_err(|rule| (text.len(), rule));
    for (bytes, written) in bad_texts() {
        for field in
            ["token: T", "username: u, password: T", "username: T, password: p", "as: T", "as: a, as-groups: [g, T]"]
        {
            let field = field.replace('T', &written);
            let read = read(&of(HTTPS, &field)).unwrap();
            let fault = read.context("home").unwrap().clone().unwrap_err();
            assert_eq!((fault.rule, fault.line), (KubeRule::Header, 12), "{bytes:?}");
            let told = fault.to_string();
            assert!(told.starts_with("line 12: user \"me\": ") && told.len() < 200, "{told}");
            assert!(!told.contains("root"), "{told}");
        }
    }
    // Two of them are sent in base64, which takes letters of any language.
    for field in ["token: 'aäb'", "token: 'a b'", "as: 'ä'", "as: ' a'", "as-groups: ['']", "as-groups: ['ä']"] {
        assert_eq!(token(field).map_err(|(_, rule)| rule), Err(KubeRule::Header), "{field}");
    }
    for field in
        ["username: 'ä', password: 'ü b'", "as: 'system:serviceaccount:a:b', as-groups: ['a b']", "token: ''", "as: ''"]
    {
        assert_eq!(token(field), Ok(()), "{field}");
    }
    // A block that somebody wrote for looks ends with a line break.
    let block = of(HTTPS, "").replace("user: {}", "user:\n    token: |\n      abcdefgh\n");
    let fault = read(&block).unwrap().context("home").unwrap().clone().unwrap_err();
    assert_eq!(fault.to_string().split(": it").next(), Some("line 13: user \"me\": token"), "{fault}");
    let block = block.replace("token: |", "token: |-");
    assert!(read(&block).unwrap().context("home").unwrap().is_ok());
}

#[test]
fn a_file_in_the_place_of_a_field_is_judged_as_the_field_and_blanks_around_a_token_are_none_of_it() {
    let inlined = |user: &str, field: &str, content: &[u8]| {
        let mut context =
            read(&of(&format!("{HTTPS}, certificate-authority: ca"), user)).unwrap().contexts.remove(0).1.unwrap();
        let done = context.inline(field, content);
        done.map(|()| context.field("token").unwrap_or_default().to_owned())
    };
    for content in ["abc", "abc\n", "\r\n abc \t\r\n\n"] {
        assert_eq!(inlined("tokenFile: t", "tokenFile", content.as_bytes()), Ok("abc".to_owned()), "{content:?}");
    }
    let long = "a".repeat(1024 * 1024);
    for content in ["", " \n", "abc\nsecond\n", "a\0b", "a b", "ä", &long] {
        let fault = inlined("tokenFile: t", "tokenFile", content.as_bytes()).unwrap_err();
        assert_eq!((fault.rule, fault.field.as_str()), (KubeRule::Header, "tokenFile"), "{:?}", content.len());
    }
    assert_eq!(inlined("tokenFile: t", "tokenFile", b"a\xff").unwrap_err().rule, KubeRule::Header);
    let of_identity = |field: &str, content: &str| {
        inlined("client-certificate: c, client-key: k", field, content.as_bytes())
            .map_err(|fault| fault.rule)
            .map(|_| ())
    };
    assert_eq!(of_identity("certificate-authority", "not a cert"), Err(KubeRule::Certificate));
    assert_eq!(of_identity("client-certificate", KEY), Err(KubeRule::Certificate));
    assert_eq!(of_identity("client-key", CERTIFICATE), Err(KubeRule::Key));
    assert_eq!(of_identity("client-key", KEY), Ok(()));
}

#[test]
fn what_vouches_for_a_server_and_what_signs_in_is_looked_at_by_its_form() {
    use KubeRule::*;
    let encoded = |text: &str| STANDARD.encode(text);
    let broken = [
        "not a cert".to_owned(),
        CERTIFICATE.replace("MAMCAQE=", "AAAA"),
        CERTIFICATE.replace("MAMCAQE=", "MAMCAQ=="),
        CERTIFICATE.replace("MAMCAQE=", "!!!"),
        CERTIFICATE.replace("MAMCAQE=", ""),
        CERTIFICATE.replace("-----END CERTIFICATE-----", ""),
        CERTIFICATE.replace("CERTIFICATE", "TRUSTED CERTIFICATE"),
        format!("{CERTIFICATE}{}", CERTIFICATE.replace("MAMCAQE=", "AAAA")),
        KEY.to_owned(),
    ];
    for text in &broken {
        let cluster = format!("{HTTPS}, certificate-authority-data: {}", encoded(text));
        assert_eq!(judged(&cluster, ""), Err(Certificate), "{text}");
        let user = format!("client-certificate-data: {}, client-key-data: {}", encoded(text), encoded(KEY));
        assert_eq!(judged(HTTPS, &user), Err(Certificate), "{text}");
    }
    for text in
        [CERTIFICATE.to_owned(), KEY.replace("EC ", "ENCRYPTED "), KEY.replace("MAMCAQE=", "AAAA"), "AAAA".into()]
    {
        let user = format!("client-certificate-data: {}, client-key-data: {}", encoded(CERTIFICATE), encoded(&text));
        assert_eq!(judged(HTTPS, &user), Err(Key), "{text}");
    }
    assert_eq!(judged(HTTPS, &format!("client-key-data: {}", encoded(KEY))), Err(Missing));
    assert_eq!(judged(HTTPS, &format!("client-certificate-data: {}", encoded(CERTIFICATE))), Err(Missing));
    for text in
        [CERTIFICATE.to_owned(), format!("# home\n{CERTIFICATE}\n{CERTIFICATE}"), CERTIFICATE.replace('\n', "\r\n")]
    {
        assert!(judged(&format!("{HTTPS}, certificate-authority-data: {}", encoded(&text)), "").is_ok(), "{text}");
    }
    for (name, is_one) in [
        ("api.example.org", true),
        ("10.0.0.1", true),
        ("'::1'", true),
        ("'bad name!'", false),
        ("a..b", false),
        ("'a\n  b'", false),
    ] {
        let found = judged(&format!("{HTTPS}, tls-server-name: {name}"), "").map(|_| ());
        assert_eq!(found, if is_one { Ok(()) } else { Err(Name) }, "{name}");
    }
}
