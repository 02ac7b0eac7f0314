//! What programs print, how they end, and what is said about it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

const NOON: Timestamp = Timestamp(1_763_726_400_000_000);

/// Returns a program that runs a script.
fn plugin(directory: &Path, script: &str) -> Plugin {
    let path = directory.join("sign-in");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    Plugin::new(path, vec!["--for".to_owned(), "two words; $HOME".to_owned()], BTreeMap::new())
}

fn printed(status: &str) -> String {
    format!(r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{status}}}"#)
}

#[test]
fn what_is_printed_is_taken_whole_or_refused_without_a_word_of_it() {
    let credential = |text: &str| parse(&SecretValue::new(text.to_owned()));
    let token = credential(&printed(r#"{"token":"abc.d-e","expirationTimestamp":"2025-11-21T13:00:00Z"}"#)).unwrap();
    assert_eq!(token.token.as_ref().unwrap().expose(Purpose::Credential), "abc.d-e");
    assert_eq!(token.until(), NOON.plus(Duration::from_secs(3_600)));
    let identity = credential(&printed(r#"{"clientCertificateData":"CERT","clientKeyData":"KEY"}"#)).unwrap();
    let given = identity.auth_info();
    assert_eq!((given.client_certificate_data.as_deref(), given.token.is_none()), (Some("Q0VSVA=="), true));
    assert_eq!(identity.until(), Timestamp(i64::MAX));
    let v1beta1 = printed(r#"{"token":"hunter2"}"#).replace("/v1", "/v1beta1");
    for (text, why) in [
        ("hunter2", "no ExecCredential as JSON"),
        (r#"{"apiVersion":"v1","kind":"Secret","token":"hunter2"}"#, "no ExecCredential of client"),
        (&v1beta1, "no ExecCredential of client.authentication.k8s.io/v1"),
        (&printed(r#"{"token":["hunter2"]}"#), "no ExecCredential as JSON"),
        (&printed("{}"), "neither a token nor a certificate"),
        (&printed(r#"{"token":"hunter2\nX-Other: 1"}"#), "characters that no header takes"),
        (&printed(r#"{"token":"hunter2","expirationTimestamp":"soon"}"#), "no RFC 3339 time"),
        (&printed(r#"{"clientCertificateData":"hunter2"}"#), "without the other"),
    ] {
        let said = credential(text).err().unwrap();
        assert!(said.contains(why) && !said.contains("hunter2"), "{text}: {said}");
    }
}

#[test]
fn a_credential_is_replaced_a_minute_before_its_end_or_in_the_second_half_of_its_life() {
    let good_for = |seconds| {
        let until = Some(NOON.plus(Duration::from_secs(seconds)));
        Credential { token: None, identity: None, until }.due(NOON).since(NOON).as_secs()
    };
    assert_eq!([3_600, 600, 100, 10].map(good_for), [3_540, 540, 50, 5]);
}

#[test]
fn a_complaint_is_one_short_line_without_what_may_be_a_token() {
    for (said, expected) in [
        ("no such profile: home\n", "no such profile: home"),
        ("", "it gave no reason"),
        ("bad token eyJhbGciOiJSUzI1NiIsImtpZCI6I.x9\nagain", "bad token (hidden) again"),
        ("url?key=abcdefghij0123456789abcdefghij\u{1b}[0m", "url?(hidden) [0m"),
        ("internationalisation-without-numbers-in-it", "internationalisation-without-numbers-in-it"),
    ] {
        assert_eq!(shown(said), expected);
    }
    assert_eq!(shown(&"word ".repeat(200)).chars().count(), MAX_COMPLAINT_CHARS);
}

#[tokio::test]
async fn it_is_run_without_a_shell_and_without_our_environment() {
    let directory = tempfile::tempdir().unwrap();
    let seen = directory.path().join("seen");
    let script =
        format!("{{ env; pwd; printf '%s|' \"$@\"; }} > {}\necho '{}'", seen.display(), printed(r#"{"token":"t"}"#));
    let mut plugin = plugin(directory.path(), &script);
    plugin.env.insert("PROFILE".to_owned(), "home".to_owned());
    assert!(plugin.run(NOON, None).await.unwrap().token.is_some());
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.ends_with("/\n--for|two words; $HOME|") && seen.contains("PROFILE=home\n"), "{seen}");
    assert!(seen.contains(&format!("KUBERNETES_EXEC_INFO={ASKED}\n")), "{seen}");
    let names = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    let known = ["PATH", "LC_ALL", "TZ", "KUBERNETES_EXEC_INFO", "PROFILE", "PWD", "OLDPWD", "SHLVL", "_"];
    assert!(names.clone().all(|name| known.contains(&name)), "{seen}");
}

#[tokio::test]
async fn one_that_fails_says_why_and_gives_nothing_away() {
    let directory = tempfile::tempdir().unwrap();
    let token = printed(r#"{"token":"hunter2","expirationTimestamp":"2025-11-21T11:00:00Z"}"#);
    for (script, why) in [
        ("echo 'no profile correct-horse' >&2; exit 3", "it ended with exit status: 3: no profile (hidden)".to_owned()),
        (&*format!("echo '{token}'; echo 'have hunter2' >&2; exit 1"), "exit status: 1: have (hidden)".to_owned()),
        ("yes", format!("it printed more than {} KiB", MAX_OUTPUT_BYTES / 1024)),
        (&*format!("echo '{token}'"), "what it printed was good until 2025-11-21T11:00:00Z only".to_owned()),
        ("cat /dev/zero | head -c 1000000 >&2; echo '{}'", "no ExecCredential".to_owned()),
        ("sleep 1000", "it did not end within".to_owned()),
    ] {
        let mut plugin = plugin(directory.path(), script);
        plugin.env.insert("PASSWORD".to_owned(), "correct-horse".to_owned());
        plugin.deadline = if matches!(script, "yes" | "sleep 1000") { Duration::from_millis(500) } else { DEADLINE };
        let said = plugin.run(NOON, None).await.err().unwrap();
        assert!(said.starts_with(&format!("sign in with {}: ", plugin.command.display())), "{said}");
        assert!(said.contains(&why) || (script == "yes" && said.contains("did not end")), "{script}: {said}");
        assert!(said.ends_with("; run it by hand as the user of the daemon"), "{said}");
        assert!(!format!("{said}{plugin:?}").contains("hunter2") && !said.contains("correct-horse"), "{said}");
    }
    let absent = Plugin::new("/no/such/program".into(), Vec::new(), BTreeMap::new());
    assert!(absent.run(NOON, None).await.err().unwrap().contains("it did not start"));
}
