//! A person's word to stop, for whoever carries out a plan: heard between two requests.
//!
//! Not here: who may say it and what follows (`pipeline::cancel`).

use std::sync::OnceLock;

/// Whether an operation is to stop. The word is said once, and until the operation is about to end.
#[derive(Debug, Default)]
pub struct Halt(OnceLock<Option<String>>);

impl Halt {
    /// Says that it is to stop and why, in words that follow "it was"; returns whether it will: not if it is about to end.
    pub fn call(&self, why: String) -> bool {
        self.0.get_or_init(|| Some(why)).is_some()
    }

    /// Returns why it is to stop, if it is.
    pub fn why(&self) -> Option<&str> {
        self.0.get().and_then(Option::as_deref)
    }

    /// Hears no further word, because the operation is about to end; returns why it was to stop, if it was.
    pub fn seal(&self) -> Option<&str> {
        self.0.get_or_init(|| None).as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_heard_once_and_never_after_the_end() {
        let halt = Halt::default();
        assert_eq!(halt.why(), None);
        assert!(halt.call("cancelled by ann".to_owned()));
        assert!(halt.call("cancelled by bob".to_owned()), "it stops all the same");
        assert_eq!((halt.why(), halt.seal()), (Some("cancelled by ann"), Some("cancelled by ann")));
        let ended = Halt::default();
        assert_eq!(ended.seal(), None);
        assert!(!ended.call("cancelled by ann".to_owned()));
        assert_eq!(ended.why(), None);
    }
}
