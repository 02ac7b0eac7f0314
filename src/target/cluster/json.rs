//! Reads the JSON that a server answers however deep it is nested.
//!
//! An object may be nested deeper than any parser that recurses follows, and one such object must not hide the others of its kind. What lies
//! deeper than anything that Rewild looks at is read as null. Not here: what the values mean.

use serde_json::Value;

/// Deepest nesting that is read. What the parser itself allows is 128.
const MAX_DEPTH: usize = 120;

/// Reads a text; nothing if it is no JSON.
pub(super) fn read(text: &[u8]) -> Option<Value> {
    match serde_json::from_slice(text) {
        Ok(value) => Some(value),
        // Only few texts are that deep, so all others are read once.
        Err(error) if error.is_syntax() => serde_json::from_slice(&shallow(text)).ok(),
        Err(_) => None,
    }
}

/// Writes null in place of what is nested too deep.
fn shallow(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for &byte in text {
        let is_inner = depth > MAX_DEPTH;
        if in_text {
            in_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
        } else {
            match byte {
                b'"' => in_text = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        match (is_inner, depth > MAX_DEPTH) {
            (false, false) => out.push(byte),
            (false, true) => out.extend_from_slice(b"null"),
            (true, _) => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_DEPTH, read};

    fn nested(depth: usize, inner: &str) -> String {
        format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn what_is_nested_too_deep_is_null_and_all_beside_it_is_read() {
        let text =
            format!(r#"{{"a": "b]\"}}", "deep": {}, "c": {{"d": ["\\", 1]}}}}"#, nested(10_000, r#"{"x": "]"}"#));
        let value = read(text.as_bytes()).unwrap();
        assert_eq!((&value["a"], &value["c"]), (&json!("b]\"}"), &json!({"d": ["\\", 1]})));
        let mut inner = &value["deep"];
        let mut depth = 1;
        while let Value::Array(items) = inner {
            (inner, depth) = (&items[0], depth + 1);
        }
        assert_eq!((inner, depth), (&Value::Null, MAX_DEPTH));
    }

    #[test]
    fn what_the_parser_reads_is_read_whole_and_what_is_no_json_is_not() {
        let deep = nested(127, "1");
        assert_eq!(read(deep.as_bytes()), serde_json::from_str(&deep).ok());
        for text in ["", "{", "[1,]", "\u{0}", &nested(200, "}")] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
