//! Credentials in files of their own, named by the daemon's settings.
//!
//! Not here: credentials in `secrets.yaml`.

use std::path::Path;

use super::Error;
use super::file::read;
use crate::model::{Diagnostic, SecretValue};

/// Reads the first line of a credential file. Taking it from others is the part of the instance that it is read for.
pub fn read_credential(path: &Path) -> Result<SecretValue, Error> {
    let wrong = |message: &str| {
        let found = Diagnostic::error("S301", &path.display().to_string(), 0, message);
        Error::Content { path: path.to_owned(), diagnostics: vec![found] }
    };
    let content = read(path)?.ok_or_else(|| wrong("the file is not there"))?;
    let text = String::from_utf8(content).map_err(|_| wrong("the file is not UTF-8"))?;
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => Ok(SecretValue::new(line.to_owned())),
        Some(_) | None => Err(wrong("the file is empty")),
    }
}
