//! Tests against real programs; a part that is not built is skipped unless `WILD_REQUIRE_PARTS` is set.
//!
//! World: child processes and temporary directories. Not here: how the parts are built (`tests/parts/`).

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends at the first surprise")]

mod directory;
