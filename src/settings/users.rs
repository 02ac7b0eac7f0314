//! Users of this system by number.
//!
//! Not here: what they may.

use std::fs::File;
use std::io::Read;

/// How much of the list of users is read, in bytes; a hundred of them take 5 KiB.
const MAX_LIST_BYTES: u64 = 1024 * 1024;

/// Returns the name of a user, as the system's own list says.
pub fn user_name(uid: u32) -> String {
    let mut list = String::new();
    if let Ok(file) = File::open("/etc/passwd") {
        // What does not read names nobody.
        let _ = file.take(MAX_LIST_BYTES).read_to_string(&mut list);
    }
    named(&list, uid).map_or_else(|| uid.to_string(), str::to_owned)
}

fn named(list: &str, uid: u32) -> Option<&str> {
    let id = uid.to_string();
    let mut lines = list.lines().map(|line| line.split(':'));
    lines
        .find_map(|mut fields| Some((fields.next()?, fields.nth(1)?)).filter(|(_, uid)| *uid == id))
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_user_is_found_by_the_number_and_by_nothing_else() {
        let list = "root:x:0:0:root:/root:/bin/sh\n1000\nalice:x:1000:100:0:/:/bin/sh\n";
        assert_eq!((named(list, 0), named(list, 1000), named(list, 100)), (Some("root"), Some("alice"), None));
    }
}
