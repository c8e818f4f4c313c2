//! Which of many connections have something to do, so that the others are not asked.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use futures_util::task::AtomicWaker;

/// A bell for each connection, and a board that shows which have rung.
pub(crate) struct Bells {
    board: Arc<Board>,
    bells: Vec<(Arc<Bell>, Waker)>,
}

struct Board {
    rung: Mutex<Vec<usize>>,
    task: AtomicWaker,
}

struct Bell {
    number: usize,
    board: Arc<Board>,
    has_rung: AtomicBool,
}

impl Bells {
    /// So many bells, each of which has rung.
    pub(crate) fn new(count: usize) -> Bells {
        let board = Arc::new(Board { rung: Mutex::new((0..count).collect()), task: AtomicWaker::new() });
        let bell = |number| {
            let board = Arc::clone(&board);
            let bell = Arc::new(Bell { number, board, has_rung: AtomicBool::new(true) });
            (Arc::clone(&bell), Waker::from(bell))
        };
        let bells = (0..count).map(bell).collect();
        Bells { board, bells }
    }

    /// From now on this task is woken when a bell rings.
    pub(crate) fn wake(&self, task: &Waker) {
        self.board.task.register(task);
    }

    /// The bell of this number, to be rung.
    pub(crate) fn bell(&self, number: usize) -> &Waker {
        &self.bells[number].1
    }

    /// Takes down which bells have rung, in the place of what `rung` held. They can ring again.
    pub(crate) fn take(&self, rung: &mut Vec<usize>) {
        rung.clear();
        mem::swap(rung, &mut self.board.rung.lock().unwrap_or_else(PoisonError::into_inner));
        for number in rung.iter() {
            self.bells[*number].0.has_rung.store(false, Ordering::SeqCst);
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Bell>) {
        if !self.has_rung.swap(true, Ordering::SeqCst) {
            self.board.rung.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
            self.board.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_is_shown_once_until_it_is_taken_down() {
        let bells = Bells::new(3);
        let mut rung = vec![9];
        bells.take(&mut rung);
        assert_eq!(rung, [0, 1, 2]);
        bells.bell(2).wake_by_ref();
        bells.bell(0).wake_by_ref();
        bells.bell(2).wake_by_ref();
        bells.take(&mut rung);
        assert_eq!(rung, [2, 0]);
        bells.take(&mut rung);
        assert!(rung.is_empty());
    }
}
