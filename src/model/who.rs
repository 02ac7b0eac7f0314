//! Format. Pure. Who asked for something: the name that was given, which anybody may give, and the user that the system says it was.
//!
//! As one text it is `Alice <alice@example.org> [user alice]`; without the last part nobody knows more than the name. Not here: who may ask
//! (`http`).

/// Who asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Who {
    /// The name that was given, with an address if there was one: a claim.
    pub name: String,
    /// The user of the system that asked; empty where that is not known.
    pub user: String,
}

/// Where the user begins.
const MARK: &str = " [user ";

impl Who {
    /// Returns who gave this name and is this user. What would be taken for a mark of ours is left out of the name.
    pub fn new(name: &str, user: &str) -> Self {
        let plain =
            |text: &str| text.chars().filter(|c| !matches!(c, '[' | ']') && !c.is_control()).collect::<String>();
        let user = plain(user);
        match plain(name).trim() {
            "" => Self { name: user.clone(), user },
            name => Self { name: name.to_owned(), user },
        }
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Self {
        match text.strip_suffix(']').and_then(|text| text.rsplit_once(MARK)) {
            Some((name, user)) => Self { name: name.to_owned(), user: user.to_owned() },
            None => Self { name: text.to_owned(), user: String::new() },
        }
    }

    /// Returns it as one text.
    pub fn text(&self) -> String {
        let Self { name, user } = self;
        if user.is_empty() { name.clone() } else { format!("{name}{MARK}{user}]") }
    }

    /// Returns it as sentences say it: with the user where the name is another.
    pub fn shown(&self) -> String {
        let name = self.name.split(" <").next().unwrap_or_default();
        match self.user.as_str() {
            "" => name.to_owned(),
            user if user == name => name.to_owned(),
            user => format!("{name} (user {user})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Who;

    #[test]
    fn a_name_is_a_claim_and_no_name_says_another_user() {
        let check = |name: &str, user: &str, text: &str, shown: &str| {
            let who = Who::new(name, user);
            assert_eq!((who.text().as_str(), who.shown().as_str()), (text, shown));
            assert_eq!(Who::parse(&who.text()), who);
        };
        check("Alice <a@example.org>", "alice", "Alice <a@example.org> [user alice]", "Alice (user alice)");
        check("alice", "alice", "alice [user alice]", "alice");
        check("", "alice", "alice [user alice]", "alice");
        check("root [user root]", "mallory", "root user root [user mallory]", "root user root (user mallory)");
        check("[user root]", "mallory", "user root [user mallory]", "user root (user mallory)");
        check("wild", "", "wild", "wild");
        assert_eq!(Who::parse("Alice <a@example.org>").shown(), "Alice");
    }
}
