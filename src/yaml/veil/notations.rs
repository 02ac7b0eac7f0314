//! Pure. Every notation in which a value of a ConfigMap or a file holds secrets, on every way to a person: no secret is shown, the rest is, and lines
//! stay lines.
//!
//! In the texts `hunter` begins what nobody may see and `kept` what everybody must.

use serde_json::json;

use super::{veiled, veiled_pair};
use crate::model::Veil;

/// Texts by their notation.
const NOTATIONS: [(&str, &str); 79] = [
    (
        "JSON on a line",
        "{\"host\": \"kept-1\", \"password\": \"hunter-1\", \"port\": 5, \"api\": {\"token\":\"hunter-2\"}, \"x\": \"kept-2\"}",
    ),
    (
        "JSON",
        "{\n  \"host\": \"kept-1\",\n  \"dbPassword\": \"hunter-1\",\n  \"passwords\": [\n    \"hunter-2\",\n    \"hunter-3\"\n  ],\n  \"x\": \"kept-2\"\n}\n",
    ),
    (
        "JSON of variables",
        "[{\"name\": \"DB_PW\", \"value\": \"hunter-1\"}, {\"name\": \"HOST\", \"value\": \"kept-1\"}]",
    ),
    ("JSON in JSON", "{\"auth\": \"{\\\"token\\\": \\\"hunter-1\\\", \\\"a\\\": \\\"kept-1\\\"}\"}"),
    ("YAML", "db:\n  host: kept-1\n  password: hunter-1\npasswords:\n- hunter-2\n- hunter-3\nlast: kept-2\n"),
    ("YAML of users", "passwords:\n  alice: hunter-1\n  bob: [hunter-2, hunter-3]\nlast: kept-2\n"),
    ("YAML in a flow", "db: {host: kept-1, password: hunter-1, x: kept-2}\n"),
    ("YAML lists in a flow", "host: kept-1\ntokens: [hunter-1, \"hunter-2\"]\n"),
    ("YAML texts", "apiToken: |\n  hunter-1\n  hunter-2\nhost: kept-1\n"),
    ("YAML in a template", "{{ if .x }}\npasswords:\n  - hunter-1\n{{ end }}\nhost: kept-1\n"),
    ("XML elements", "<db>\n  <host>kept-1</host>\n  <password>hunter-1</password>\n</db>\n"),
    ("XML elements over lines", "<db>\n<password>\n  hunter-1\n</password>\n<host>kept-1</host>\n</db>\n"),
    ("XML attributes", "<db host=\"kept-1\" password=\"hunter-1\" port='kept-2'/>\n"),
    ("XML properties", "<add key=\"DbPassword\" value=\"hunter-1\"/>\n<add key=\"Host\" value=\"kept-1\"/>\n"),
    ("XML texts", "<password><![CDATA[hunter-1]]></password><host>kept-1</host>\n"),
    (
        "XML of Hadoop",
        "<property>\n<name>fs.secret.key</name>\n<value>hunter-1</value>\n<name>fs.host</name>\n<value>kept-1</value>\n</property>\n",
    ),
    ("XML with prefixes", "<w:token>hunter-1</w:token><w:host>kept-1</w:host>"),
    ("netrc", "machine kept-1 login kept-2 password hunter-1\n"),
    ("netrc over lines", "machine kept-1\n  login kept-2\n  password hunter-1\n"),
    ("pgpass", "kept-1:5432:blog:me:hunter-1\n*:*:*:kept-2:hunter-2\n"),
    ("htpasswd", "kept-1:$apr1$hunter-1\nkept-2:{SHA}hunter-2\n"),
    ("INI", "[kept-1]\nhost = kept-2\npassword = hunter-1\n"),
    ("INI sections", "[passwords]\nalice = hunter-1\n[db]\nhost = kept-1\n"),
    ("properties", "db.host=kept-1\ndb.password=hunter-1\nspring.datasource.secret-key: hunter-2\n"),
    ("variables", "HOST=kept-1\nDB_PW=hunter-1\nexport TOKEN='hunter-2'\nPGPASS=\"hunter-3\"\n"),
    ("variables on a line", "env HOST=kept-1 DB_PW=hunter-1 API_KEY='hunter-2' kept-2"),
    ("variables over lines", "TOKEN=\"hunter-1\nhunter-2\"\nHOST=kept-1\n"),
    ("TOML", "[db]\nhost = \"kept-1\"\npassword = \"hunter-1\"\ntokens = [\"hunter-2\", \"hunter-3\"]\n"),
    ("TOML texts", "token = \"\"\"\nhunter-1\nhunter-2\"\"\"\nhost = \"kept-1\"\n"),
    ("TOML tables", "db = { host = \"kept-1\", password = \"hunter-1\" }\n"),
    ("connection strings", "Server=kept-1;User=kept-2;Password=hunter-1 and hunter-2;Port=kept-3"),
    ("connection strings in JSON", "{\"Default\": \"Server=kept-1;Pwd=hunter-1;Port=kept-2\"}"),
    ("libpq", "conn: host=kept-1 password=hunter-1 dbname=kept-2"),
    ("addresses", "see postgres://me:hunter-1@kept-1/x and redis://:hunter-2@kept-2 for more kept-3"),
    ("queries", "curl https://kept-1/x?a=kept-2&access_token=hunter-1&b=kept-3"),
    ("headers", "GET / HTTP/1.1\nHost: kept-1\nAuthorization: Bearer hunter-1\nX-Api-Key: hunter-2\n"),
    ("headers of commands", "curl -H 'Authorization: Bearer hunter-1' -H \"X-Api-Key: hunter-2\" https://kept-1"),
    ("bearers", "send Bearer hunter-1234567890abc to kept-1"),
    ("keys", "kept-1\n-----BEGIN RSA PRIVATE KEY-----\nhunter-1\n-----END RSA PRIVATE KEY-----\nkept-2\n"),
    ("keys that are cut off", "kept-1\n-----BEGIN PRIVATE KEY-----\nhunter-1\n"),
    ("keys on a line", "a: kept-1 -----BEGIN EC PRIVATE KEY-----\\nhunter-1\\n-----END EC PRIVATE KEY----- kept-2"),
    ("flags", "run --host kept-1 --password hunter-1 --token=hunter-2 --db-pw='hunter-3' kept-2"),
    (
        "programs",
        "curl -u me:hunter-1 https://kept-1\nsshpass -p hunter-2 ssh kept-2\nmysql -h kept-3 -phunter-3 blog\n",
    ),
    ("names", "dbPassword=hunter-1\ndb-password=hunter-2\ndb.password=hunter-3\nDBPassword=hunter-4\ndb_host=kept-1\n"),
    ("code", "$config['password'] = 'hunter-1'; $config['host'] = 'kept-1';\n'secret_key' => 'hunter-2',\n"),
    ("YAML texts that are folded", "password: >-\n  hunter-1\n  hunter-2\nhost: kept-1\n"),
    ("YAML texts with an indent", "password: |2-\n    hunter-1\nhost: kept-1\n"),
    ("YAML anchors", "password: &a hunter-1\ntoken: !!str hunter-2\nhost: &b kept-1\n"),
    ("YAML keys with marks", "? password\n: hunter-1\n? host\n: kept-1\n"),
    ("arguments over lines", "args:\n- --host\n- kept-1\n- --password\n- hunter-1\n- --port\n- kept-2\n"),
    ("arguments in JSON", "args: [\"--host\",\"kept-1\",\"--password\",\"hunter-1\",\"kept-2\"]\n"),
    ("arguments in a flow", "args: [--host, kept-1, --password, hunter-1, --port, kept-2]\n"),
    (
        "arguments in JSON over lines",
        "[\n  \"--host\",\n  \"kept-1\",\n  \"--password\",\n  \"hunter-1\",\n  \"kept-2\"\n]\n",
    ),
    ("registries", "{\"auths\": {\"kept-1\": {\"auth\": \"aHVudGVyhunter-1Zm9v==\"}}}\n"),
    ("JSON with escapes", "{\"password\": \"a\\\"hunter-1\", \"host\": \"kept-1\"}"),
    (
        "XML over lines with text on the first",
        "<db>\n<password>hunter-1\nhunter-2</password>\n<host>kept-1</host>\n</db>\n",
    ),
    ("heredocs", "password = <<EOF\nhunter-1\nhunter-2\nEOF\nhost = kept-1\n"),
    ("heredocs of a shell", "PASSWORD=$(cat <<'EOF'\nhunter-1\nEOF\n)\nHOST=kept-1\n"),
    ("signs", "PASSWORD+=hunter-1\nPASSWORD:=hunter-2\nPASSWORD ?= hunter-3\nHOST+=kept-1\n"),
    (
        "calls",
        "define('DB_PASSWORD', 'hunter-1');\nputenv(\"DB_PASSWORD=hunter-2\");\nsetPassword(\"hunter-3\");\ndefine('HOST', 'kept-1');\n",
    ),
    ("indexes", "os.environ[\"TOKEN\"] = \"hunter-1\"\nos.environ[\"HOST\"] = \"kept-1\"\n"),
    ("keywords", "{:host \"kept-1\" :password \"hunter-1\"}\n"),
    ("SQL", "CREATE USER kept-1 WITH PASSWORD 'hunter-1';\nSET PASSWORD = 'hunter-2';\n"),
    ("directives", "requirepass hunter-1\nmasterauth hunter-2\nport kept-1\nsentinel auth-pass kept-2 hunter-3\n"),
    (
        "directives that set",
        "SetEnv DB_PASSWORD hunter-1\nfastcgi_param DB_PASSWORD hunter-2;\nset password hunter-3\nset host kept-1\n",
    ),
    ("directives of users", "password hunter-1\nuser kept-1 password hunter-2\nstats auth me:hunter-3\n"),
    ("headers that are set", "proxy_set_header Authorization \"Basic hunter-1\";\nproxy_set_header Host kept-1;\n"),
    (
        "programs and users",
        "curl -ume:hunter-1 https://kept-1\ncurl --user me:hunter-2 kept-2\nwget --http-password=hunter-3 kept-3\n",
    ),
    ("programs that sign in", "docker login -u kept-1 -p hunter-1 kept-2\nmongo -p hunter-2 kept-3\n"),
    (
        "programs that encrypt",
        "openssl rsa -passin pass:hunter-1 -in kept-1\nzip -P hunter-2 kept-2\n7z a -phunter-3 kept-3\n",
    ),
    ("programs with the secret last", "htpasswd -b kept-1 me hunter-1\nrabbitmqctl add_user kept-2 hunter-2\n"),
    ("data sources", "me:hunter-1@tcp(kept-1:3306)/db\nx me:hunter-2@unix(/kept-2)/db\n"),
    ("tokens by their looks", "use ghp_hunter-1234567890abcdefghij or glpat-hunter2-34567890abc for kept-1"),
    ("web tokens", "try eyJhunter-1.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-hunter2 for kept-1"),
    ("addresses that are secrets", "https://hooks.slack.com/services/T0/B0/hunter-1 for kept-1"),
    (
        "placeholders with more",
        "password: $(X)hunter-1\ntoken: {{ x }}hunter-2\nsecret: ${X}-hunter-3\nhost: {{ kept-1 }}\n",
    ),
    ("comments", "# password: hunter-1\n; token = hunter-2\n// secret: \"hunter-3\"\n# host: kept-1\n"),
    ("lines of Windows", "password=hunter-1\r\nhost=kept-1\r\ntoken: hunter-2\r\n"),
    (
        "values with signs",
        "password: hunter-1#x\ntoken=a#hunter-2\nsecret: \"é hunter-3\"\n\u{e9}password: hunter-3\nhost: kept-1\n",
    ),
];

/// Texts that only speak of secrets.
const HARMLESS: [&str; 31] = [
    "The password is kept in the Secret blog-secrets.",
    "Use --password to set it, and --token from the file.",
    "volumes:\n- name: x\n  secret:\n    secretName: blog-secrets\n    defaultMode: 420\n",
    "{{ if .x }}\nvolumes:\n- name: x\n  secret:\n    secretName: blog-secrets\n{{ end }}\n",
    "env:\n- name: TOKEN\n  valueFrom: {secretKeyRef: {name: a, key: token}}\n",
    "passwordFile=/run/secrets/password\nTOKEN_URL=https://host/token\nPASSWORD_MIN_LENGTH=12\n",
    "password: {{ .Values.password }}\ntoken: $(TOKEN)\nsecret: ${SECRET}\n",
    "password:\nhost: db\n",
    "Bearer authentication is on; no tokens are needed",
    "image: registry:5000/a/b:1.2 and 00:11:22:33:44:55 at 12:30:45",
    "<password></password><host>db</host>",
    "Enter <password> and press return.",
    "if a == b && token_count != 5 { return }",
    "https://host/path?page=2&size=5#top",
    "listen 80; server_name a.example.org; location / { proxy_pass http://up; }",
    "log_format main '$remote_addr - $remote_user [$time_local]';",
    "tokenizer=fast\ncompass=north\nauthor=me\nkeyboard=de\n",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    "replicas: 3\nports: [80, 443]\nmonkey: banana\n",
    "curl -u https://host and mysql -h db",
    "[auth]\nmethod = ldap\ntoken_ttl = 5m\n",
    "fe80:1:2:3:4:5",
    "location / { proxy_pass http://up; }\nproxy_pass: http://up\npass_through: x\npassthrough=yes\nbypass: x\n",
    "tokens: 5000\nmax_tokens: 100\ntoken_limit: 5\nmaxTokens=4096\n",
    "password-reset: enabled\npasswordRequired: yes\npassword_policy: strict\nwithCredentials: true\nallow_credentials: yes\n",
    "token_header: X-Auth\nAuthorization: required\nauthorization: rbac\nauth: basic\ncredentialsMode: none\n",
    "secretName: x\nsecretRef: x\ntokenType: bearer\ntoken_endpoint: https://host/token\npasswordField: pw\napiKeyHeader: X-Api-Key\n",
    "keyPath: /x\nprivate_key_file=/x\npwd: /var/www\nPWD=/var/www\ntokenize: true\nsecretary: Bob\npassport: no\n",
    "Reset password now\nno token found\ninvalid token error\npassword reset\nToken expired\n",
    "fields: [\"password\", \"username\"]\ndocker run -p 8080:80 web\n",
    "{\"tokens\": 5000, \"max_tokens\": 100, \"auth\": \"basic\", \"passwordRequired\": \"yes\"}",
];

/// Returns a text on every way to a person.
fn ways(text: &str) -> Vec<(&'static str, String)> {
    let veil = Veil::default();
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    let block = format!("kind: ConfigMap\ndata:\n  file: |\n{indented}");
    let quoted = format!("kind: ConfigMap\ndata:\n  file: {}\n", json!(text));
    let object = json!({"kind": "ConfigMap", "data": {"file": text}});
    let one = |value: serde_json::Value| value["data"]["file"].as_str().unwrap().to_owned();
    let other = json!("other");
    let [Some(left), Some(right)] = veil.pair("data.file", Some(&json!(text)), Some(&json!(text))) else { panic!() };
    let [Some(alone), _] = veil.pair("data.file", Some(&json!(text)), Some(&other)) else { panic!() };
    let [before, after] = veiled_pair(text, "", &veil);
    assert_eq!(after, "");
    vec![
        ("a file", veiled(text, &veil)),
        ("a file beside another", before),
        ("a file beside itself", veiled_pair(text, text, &veil)[1].clone()),
        ("a text in a file", veiled(&block, &veil)),
        ("a quoted text in a file", veiled(&quoted, &veil)),
        ("an object", one(veil.value("", &object))),
        ("a field", left.as_str().unwrap().to_owned()),
        ("a field beside itself", right.as_str().unwrap().to_owned()),
        ("a field beside another", alone.as_str().unwrap().to_owned()),
    ]
}

#[test]
fn no_secret_is_shown_in_any_notation_on_any_way_and_the_rest_is() {
    let mut wrong = Vec::new();
    for (notation, text) in NOTATIONS {
        for (way, shown) in ways(text) {
            let lost: Vec<String> =
                (1..4).map(|n| format!("kept-{n}")).filter(|it| text.contains(it) && !shown.contains(it)).collect();
            if shown.contains("hunter") || !shown.contains("(hidden)") || !lost.is_empty() {
                wrong.push(format!("{notation}, {way}, without {lost:?}:\n{shown}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{} are wrong", wrong.join("\n"), wrong.len());
}

#[test]
fn lines_stay_lines_outside_of_keys_and_texts_of_several_lines() {
    for (notation, text) in NOTATIONS.iter().filter(|(name, _)| !name.contains("keys") && !name.contains("YAML texts"))
    {
        let shown = veiled(text, &Veil::default());
        assert_eq!(shown.lines().count(), text.lines().count(), "{notation}:\n{shown}");
    }
}

#[test]
fn texts_that_only_speak_of_secrets_stay_as_they_are() {
    let mut wrong = Vec::new();
    for text in HARMLESS {
        wrong.extend(
            ways(text)
                .into_iter()
                .filter(|(_, shown)| shown.contains("(hidden"))
                .map(|(way, shown)| format!("{way}:\n{shown}")),
        );
    }
    assert!(wrong.is_empty(), "{}\n{} are wrong", wrong.join("\n"), wrong.len());
}

#[test]
fn a_secret_in_the_midst_of_a_text_is_seen_to_differ() {
    for (notation, text) in NOTATIONS {
        let changed = text.replace("hunter-1", "hunter-9");
        let [before, after] = veiled_pair(text, &changed, &Veil::default());
        assert!(!before.contains("hunter") && !after.contains("hunter"), "{notation}:\n{after}");
        assert!(after.contains("(hidden, differs)"), "{notation}:\n{after}");
    }
}
