//! Pure. Every notation in which a value of a ConfigMap or a file holds secrets, on every way to a person: no secret is shown, the rest is, and lines
//! stay lines.
//!
//! In the texts `hunter` begins what nobody may see and `kept` what everybody must.

use serde_json::json;

use super::{veiled, veiled_pair};
use crate::model::Veil;

/// Texts by their notation.
const NOTATIONS: [(&str, &str); 135] = [
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
    ("YAML lists of words", "passwords: hunter-1 hunter-2\nhost: kept-1\n"),
    (
        "JSON in JSON in JSON",
        r#"{"a": "{\"b\": \"{\\\"token\\\": \\\"hunter-1\\\", \\\"x\\\": \\\"kept-1\\\"}\"}", "c": "kept-2"}"#,
    ),
    ("old registries", r#"{"https://kept-1/v1/": {"auth": "hunter-1aHVudGVy", "email": "kept-2"}}"#),
    (
        "XML attributes over lines",
        "<db\n  host=\"kept-1\"\n  password=\n    \"hunter-1\"\n/>\n<add key=\"ApiToken\"\n     type=\"kept-2\"\n     value=\"hunter-2\"/>\n<x y=\"5\"/>\n",
    ),
    (
        "XML attributes with the value first",
        "<add value=\"hunter-1\"\n     key=\"DbPassword\"/>\n<!-- -->\n<add value=\"kept-1\"\n     key=\"Host\"/>\n",
    ),
    (
        "YAML variables with the value first",
        "{{ if .x }}\n- value: hunter-1\n  name: DB_PASSWORD\n- value: kept-1\n  name: HOST\n- name: TOKEN\n  value: hunter-2\n{{ end }}\n",
    ),
    (
        "JSON over lines with the value first",
        "x\n{\n  \"value\": \"hunter-1\",\n  \"name\": \"TOKEN\"\n},\n{\n  \"value\": \"kept-1\",\n  \"name\": \"HOST\"\n}\n",
    ),
    ("heredocs of HCL", "token = <<-EOT\n  hunter-1\n  EOT\nhost = kept-1\n"),
    ("arrows", "user { 'kept-1': password => 'hunter-1', token => \"hunter-2\" }\n"),
    (
        "tables of Lua",
        "c = { host = 'kept-1', password = 'hunter-1', }\nd = { host: 'kept-2', password: 'hunter-2', }\n",
    ),
    (
        "SQL of MySQL",
        "CREATE USER 'kept-1'@'%' IDENTIFIED BY 'hunter-1';\nALTER USER kept-2 IDENTIFIED WITH x BY 'hunter-2';\nSET PASSWORD FOR kept-3 = PASSWORD('hunter-3');\n",
    ),
    ("SQL in a shell", "psql -h kept-1 -c \"ALTER USER kept-2 WITH PASSWORD 'hunter-1'\"\n"),
    (
        "directives of routers",
        "hostname kept-1\nenable secret 5 hunter-1\nusername kept-2 password 7 hunter-2\nneighbor kept-3 password hunter-3\n",
    ),
    ("directives of name servers", "key kept-1 {\n  algorithm kept-2;\n  secret \"hunter-1\";\n};\n"),
    ("directives of mail", "smtp_sasl_password_maps = static:me:hunter-1\nrelayhost = kept-1\n"),
    ("directives in blocks", "server { name kept-1; ssl_password hunter-1; }\n"),
    ("JDBC", "url=jdbc:sqlserver://kept-1;user=kept-2;password=hunter-1;encrypt=kept-3\n"),
    ("Oracle", "url=jdbc:oracle:thin:me/hunter-1@kept-1:1521/x\n"),
    ("brokers", "broker me:hunter-1@kept-1:5672/x\n"),
    ("libpq in a shell", "psql \"host=kept-1 password=hunter-1 user=kept-2\" -f kept-3\n"),
    (
        "programs of stores",
        "mc alias set x http://kept-1 me hunter-1\nldapsearch -x -w hunter-2 -b kept-2\nsqlcmd -S kept-3 -P hunter-3\n",
    ),
    (
        "programs in lists",
        "command: [redis-cli, -h, kept-1, -a, hunter-1]\nargs:\n- mysql\n- -h\n- kept-2\n- -phunter-2\n",
    ),
    (
        "programs in code",
        "exec(\"mysql\", \"-h\", \"kept-1\", \"-phunter-1\")\nrun(['redis-cli', '-a', 'hunter-2', 'kept-2'])\n",
    ),
    ("programs in quotes", "sh -c \"mysql -h kept-1 -phunter-1 blog\" && echo kept-2\n"),
    ("flags with spaces", "run --password \"hunter-1 hunter-2\" --token='hunter-3 hunter-4' kept-1\n"),
    ("flags over lines", "run \\\n  --password \\\n  hunter-1 \\\n  --host kept-1\n"),
    ("clones", "git clone https://hunter-1234567890abcdef@kept-1/x.git kept-2\n"),
    (
        "tokens of forges",
        "gho_hunter-1890123456789012 kept-1 github_pat_hunter1ABCDEFGHIJK glpat-hunter2CDEFGHIJKL kept-2 dckr_pat_hunter3CDEFGHIJ",
    ),
    (
        "tokens of services",
        "xoxb-1234-5678-hunter-1 kept-1 sk_live_hunter2DEFGHIJK kept-2 npm_hunter3DEFGHIJKLMN SG.hunter4.ABCDEFGHIJK hvs.hunter5DEFGHIJKLM",
    ),
    ("tokens in addresses", "see https://kept-1/a/ghp_hunter-1890123456789012/b and kept-2"),
    (
        "headers of basic sign-in",
        "curl -H \"Authorization: Basic hunter-1\" https://kept-1\nsend Basic hunterMTIzNDU2Nzg5MA== to kept-2\n",
    ),
    ("tabs", "password\thunter-1\nhost\tkept-1\npassword:\thunter-2\ntoken\t=\thunter-3\n"),
    (
        "long paths",
        "a.very.long.path.of.keys.that.goes.on.and.on.over.many.names.of.things.in.a.file.password=hunter-1\nb.host=kept-1\n",
    ),
    ("byte order marks", "\u{feff}password=hunter-1\nhost=kept-1\n"),
    ("capitals", "PASSWORD=hunter-1\nDB_SECRET: hunter-2\nREQUIREPASS hunter-3\nHOST=kept-1\n"),
    ("letters beyond ASCII", "größe=kept-1 ключ password=hunter-1 é=kept-2\nключ: password=hunter-2 é\n"),
    (
        "comments behind values",
        "host: kept-1 # password: hunter-1\nport = 5 ; token=hunter-2\nx: kept-2 // secret: hunter-3\n",
    ),
    (
        "placeholders with a default",
        "password: {{ .x | default \"hunter-1\" }}\nhost: kept-1\ntoken: ${TOKEN:-hunter-2}\n",
    ),
    ("sentences", "sign in with password: hunter-1\n"),
    ("literals with a letter before", "f(password=b\"hunter-1\", host=b\"kept-1\", token=r'hunter-2')\n"),
    ("base64 in lists", "passwords:\n- aHVudGVyhunter-1=\n- hunter-2:x\nhost: kept-1\n"),
    ("flows in flows", "{passwords: {alice: [hunter-1], bob: hunter-2}, host: kept-1}\n"),
    ("numbers", "password: 123456hunter-1\npin: hunter-2\nhost: kept-1\n"),
    ("lines that go on", "PASSWORD=hunter-1\\\nhunter-2\nHOST=kept-1\n"),
    ("values behind a comment", "{{ x }}\npassword: # of the database\n  hunter-1\nhost: kept-1\n"),
    (
        "XML tags over lines",
        "<db>\n<password\n  encrypted=\"no\">hunter-1</password>\n<host\n  x=\"y\">kept-1</host>\n</db>\n",
    ),
    ("XML values of elements", "<password value=\"hunter-1\"/>\n<host value=\"kept-1\"/>\n"),
    ("XML attributes of several lines", "<db host=\"kept-1\" password=\"hunter-1\nhunter-2\" port=\"kept-2\"/>\n"),
    ("calls with several arguments", "new Credentials(\"me\", \"hunter-1\"); new Host(\"me\", \"kept-1\")\n"),
    (
        "headers in YAML",
        "{{ x }}\n- name: Authorization\n  value: Basic hunter-1 hunter-2\n- name: Host\n  value: kept-1\n",
    ),
    ("signs of languages", "password <- \"hunter-1\"\nif token == \"hunter-2\" then\nhost <- \"kept-1\"\n"),
    ("tuples", "get(url, auth=(\"me\", \"hunter-1\"), host=\"kept-1\")\n"),
    (
        "settings of tools",
        "git config user.password hunter-1\naws configure set aws_secret_access_key hunter-2\nset host kept-1\n",
    ),
    (
        "YAML texts of variables",
        "{{ x }}\n- name: TOKEN\n  # of the forge\n  value: >-\n    hunter-1\n    hunter-2\n- name: HOST\n  value: kept-1\n",
    ),
    ("directives that end like a sentence", "requirepass hunter-1.\nport kept-1\n"),
    ("arguments below the name of a secret", "passwords: [mysql, -phunter-1, --password, hunter-2]\nhost: kept-1\n"),
];

/// Texts that only speak of secrets.
const HARMLESS: [&str; 47] = [
    "saltstack: master.example.org",
    "SALT_ROUNDS=12",
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
    "existingSecret: blog-db\npasswordSecretKey: key\nsecretKeyRef: x\nsecretKeyRef:\n  name: a\n  key: password\n",
    "image: nginx:1.25@sha256:0123456789abcdef\nmail: me@example.org or mailto:me@example.org\n",
    "git@github.com:org/repo.git and npm i @scope/pkg@1.2\nuses: actions/checkout@v4\n",
    "zip -r a.zip a\nssh -p 22 host\nmkdir -p /a/b\n7z x a.7z\nldapsearch -b x\ndocker compose -p blog up\n",
    "PWD=/var/www\nOLDPWD=/\npwd = /srv\n",
    "f(env('DB_HOST', 'x'), getToken(\"x\"), hasPassword('y'))\n",
    "GET /token HTTP/1.1\nsecret/blog configured\n",
    "auth: true\nauth: oauth2\nauth:\n  type: x\nuser: {auth: none}\n",
    "server {\n  auth_basic \"Restricted\";\n  auth_basic_user_file /etc/x;\n  fastcgi_pass php:9000;\n  proxy_pass https://up;\n}\n",
    "The `password` field is required, see \"secret\" and 'token'.",
    "password: \"{{ .Values.password }}\"\ntoken: \"${A}-${B}\"\nsecret: '{{ x }}{{ y }}'\nkey: ${{ secrets.TOKEN }}\ntoken: ${{ secrets.TOKEN }}\n",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nnpm_config_update_notifier=false\n",
    "env:\n- name: HOST\n  value: db\n- name: PORT\n  value: \"5\"\n",
    "# passwords are kept elsewhere\n",
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

/// Names of secrets in every spelling.
const NAMES: [&str; 37] = [
    "password",
    "Password",
    "PASSWORD",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "pwd_db",
    "db_password",
    "DB_PASSWORD",
    "dbPassword",
    "db-password",
    "db.password",
    "DBPassword",
    "dbpassword",
    "rootPassword",
    "clientSecret",
    "client_secret",
    "OIDC_CLIENT_SECRET",
    "apiKey",
    "API_KEY",
    "api-key",
    "apikey",
    "authToken",
    "accessToken",
    "SECRET_KEY_BASE",
    "aws_secret_access_key",
    "privateKey",
    "SMTP_PASS",
    "encryption_key",
    "dbpass",
    "ROOTPASS",
    "smtp_creds",
    "FERNET_KEY",
    "PASSWORD_SALT",
    "masterkey",
    "cookie_key",
];

/// Notations of one value, by what it may hold besides letters and digits.
const FORMS: [(&str, &str); 33] = [
    ("N: V\n", "#$&=ö,;:/@|)]}{[%*!~^+?"),
    ("N: V\r\n", "#$&=ö,;:/@|)]}{[%*!~^+?"),
    ("  - N: V\n", "#$ö,;/@|)]}{[%*!~^+?"),
    ("N: \"V\"\n", "# $&=ö',;:/@|)]}{[%*!~^+?"),
    ("N: 'V'\n", "# $&=ö,;:/@|)]}{[%*!~^+?"),
    ("N: >-\n  V\n", "#$ö ,;:/@|)]}{[%*!~^+?"),
    ("N: |\n  V\n", "#$ö ,;:/@|)]}{[%*!~^+?"),
    ("{{ x }}\nN: V\n", "#$ö,;/@|)]}{[%*!~^+?"),
    ("{N: \"V\", a: b}\n", "# $&=ö,;:/@|)]}{[%*!~^+?"),
    ("{\"N\": \"V\"}", "# $&=ö',;:/@|)]}{[%*!~^+?"),
    ("{\"N\":\"V\",\"a\":\"b\"}", "# $&=ö',;:/@|)]}{[%*!~^+?"),
    ("{\n  \"a\": \"b\",\n  \"N\": \"V\"\n}\n", "# $&=ö',;:/@|)]}{[%*!~^+?"),
    ("N=V\n", "#$&=ö,;:/@|)]}{[%*!~^+?"),
    ("N = V\n", "# $&=ö,;:/@|)]}{[%*!~^+?"),
    ("N=\"V\"\n", "# $&=ö',;:/@|)]}{[%*!~^+?"),
    ("export N='V'\n", "# $&=ö,;:/@|)]}{[%*!~^+?"),
    ("a = 1\n# N = V\n", "#$&=ö,;:/@|)]}{[%*!~^+?"),
    ("N += V\n", "#$ö,;/@|)]}{[%*!~^+?"),
    ("N ?= V\n", "#$ö,;/@|)]}{[%*!~^+?"),
    ("N := \"V\"\n", "# $&=ö',;:/@|)]}{[%*!~^+?"),
    ("N = <<EOF\nV\nEOF\n", "# $&=ö',;:/@|)]}{[%*!~^+?\\\""),
    ("<N>V</N>\n", "# $;=ö,:/@|)]}{[%*!~^+?"),
    ("<x N=\"V\"/>\n", "# $=ö',;:/@|)]}{[%*!~^+?"),
    ("<add key=\"N\" value=\"V\"/>\n", "# $=ö',;:/@|)]}{[%*!~^+?"),
    ("- name: N\n  value: V\n", "#$ö,;/@|)]}{[%*!~^+?"),
    ("f(\"N\", \"V\")\n", "# $&=ö',;:/@|)]}{[%*!~^+?"),
    ("x['N'] = 'V'\n", "# $&=ö,;:/@|)]}{[%*!~^+?"),
    ("'N' => 'V',\n", "# $&=ö,;:/@|)]}{[%*!~^+?"),
    ("run --N V x\n", "#$=ö,/@|)]}{[%*!~^+?"),
    ("run --N=V x\n", "#$ö,;/@|)]}{[%*!~^+?"),
    ("[\"--N\",\"V\"]\n", "# $&=ö',;:/@|)]}{[%*!~^+?"),
    ("- --N\n- V\n", "#$ö,;/@|)]}{[%*!~^+?"),
    ("https://host/x?N=V\n", "$ö,;:/@|)]}{[%*!~^+"),
];

#[test]
fn the_value_of_every_name_is_hidden_in_every_notation_whatever_it_holds() {
    let veil = Veil::default();
    let field = |text: &str| veil.value("data.file", &json!(text)).as_str().unwrap().to_owned();
    let mut wrong = Vec::new();
    for (form, signs) in FORMS {
        for (number, name) in NAMES.iter().enumerate() {
            let kept = form.replace('N', name);
            // Every sign meets five names, and every name a plain value.
            let signs = signs.chars().enumerate().filter(|(at, _)| (at + number) % 6 == 0);
            let values = signs.map(|(_, sign)| format!("hunter{sign}hunter7")).chain(["hunter".to_owned()]);
            for value in values {
                let text = kept.replace('V', &value);
                for (way, shown) in [("a file", veiled(&text, &veil)), ("a field", field(&text))] {
                    let lost =
                        shown.lines().count() != text.lines().count() && (way != "a file" || !form.contains("\n  V"));
                    if shown.contains("hunter") || !shown.contains("(hidden)") || lost {
                        wrong.push(format!("{text:?}, {way}:\n{shown}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{} are wrong", wrong.join("\n"), wrong.len());
}
