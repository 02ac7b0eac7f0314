//! Room in memory for what large apps build. Passes run side by side, and each keeps its objects to its end, so together they may not take
//! more than the daemon can spare.
//!
//! Small builds wait for nobody. A large one takes as much room as the largest may need before it begins, and gives back at its end what it
//! did not take; those who wait go in the order in which they came. Whoever has room waits for no more of it, so that there is no circle, and
//! a pass that is dropped gives everything back. Not here: how large one build may be (`kustomize`).

use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

use super::desired::{Rendered, Source, render, render_small};
use crate::kustomize::MAX_BUILD_BYTES;

/// Bytes up to which a build waits for nobody: as many passes as run side by side hold less than one large app.
const LIGHT_BYTES: usize = 512 * 1024;
/// Bytes of one permit, fine enough for what is just no longer small.
const PERMIT_BYTES: usize = 64 * 1024;
/// Permits of one that is being made, as large as it may become.
const WHOLE: usize = MAX_BUILD_BYTES / PERMIT_BYTES;
/// Permits of all large passes together. While one is made, those before it hold a third of that: a pass holds up to four copies of its
/// objects, and a build takes twice of what it makes.
const ROOM: usize = WHOLE + WHOLE / 3;

static HALL: Semaphore = Semaphore::const_new(ROOM);
static PAST: Mutex<()> = Mutex::const_new(());

/// What a pass may hold until it drops this.
#[derive(Debug, Default)]
pub struct Room {
    permit: Option<SemaphorePermit<'static>>,
}

/// Waits for the room to make something as large as may be. Nobody who has room may wait for it.
pub async fn turn() -> Room {
    take(&HALL).await
}

async fn take(hall: &'static Semaphore) -> Room {
    // A semaphore that is never closed gives what is asked for.
    Room { permit: hall.acquire_many(u32::try_from(WHOLE).unwrap_or(u32::MAX)).await.ok() }
}

impl Room {
    /// Keeps the room for what was made and gives the rest back.
    fn keep(mut self, bytes: usize) -> Self {
        let rest = WHOLE.saturating_sub(bytes.div_ceil(PERMIT_BYTES));
        drop(self.permit.as_mut().and_then(|permit| permit.split(rest)));
        self
    }
}

/// Renders the wanted objects and keeps room for them.
pub(super) async fn render_kept(source: &Source<'_>) -> (Rendered, Room) {
    if let Some(small) = render_small(source, LIGHT_BYTES) {
        return (small, Room::default());
    }
    let room = turn().await;
    let rendered = render(source);
    let room = room.keep(rendered.bytes);
    (rendered, room)
}

/// Renders what was wanted before, for a pass that may have room already: one large such build is made at a time.
pub(super) async fn render_past(source: &Source<'_>) -> Rendered {
    if let Some(small) = render_small(source, LIGHT_BYTES) {
        return small;
    }
    let _turn = PAST.lock().await;
    render(source)
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// Looks once whether something is there.
    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(found) => Some(found),
            Poll::Pending => None,
        }
    }

    fn hall() -> &'static Semaphore {
        Box::leak(Box::new(Semaphore::new(ROOM)))
    }

    #[test]
    fn one_that_is_as_large_as_may_be_goes_alone() {
        let hall = hall();
        let alone = now(take(hall)).unwrap().keep(10 * MAX_BUILD_BYTES);
        assert!(now(take(hall)).is_none());
        drop(alone);
        assert!(now(take(hall)).is_some());
    }

    #[test]
    fn those_before_may_hold_a_third_while_the_next_is_made() {
        let hall = hall();
        let held: Vec<Room> = (0..4).map(|_| now(take(hall)).unwrap().keep(MAX_BUILD_BYTES / 12)).collect();
        let next = now(take(hall)).unwrap();
        assert!(now(take(hall)).is_none(), "one is made at a time");
        let next = next.keep(PERMIT_BYTES);
        assert!(now(take(hall)).is_none(), "they hold more than a third");
        drop((held, next));
        assert_eq!(hall.available_permits(), ROOM);
    }

    #[test]
    fn whoever_came_first_goes_first_and_one_that_is_dropped_gives_its_place_back() {
        let hall = hall();
        let held = now(take(hall)).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let (mut first, mut second) = (Box::pin(take(hall)), Box::pin(take(hall)));
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(held);
        assert!(second.as_mut().poll(&mut context).is_pending(), "the first has it");
        drop(first);
        assert!(second.as_mut().poll(&mut context).is_ready());
    }
}
