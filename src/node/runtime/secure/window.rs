//! Which numbers of a sender were seen, so that none counts twice. They may come in another order than they were sent.

/// How far a number may lag behind the highest one.
const WIDTH: u64 = 4_096;
const WORDS: usize = (WIDTH / 64) as usize;

/// The newest numbers of one sender.
#[derive(Clone, Debug)]
pub(super) struct Window {
    highest: u64,
    seen: Box<[u64; WORDS]>,
}

impl Default for Window {
    fn default() -> Self {
        Window { highest: 0, seen: Box::new([0; WORDS]) }
    }
}

impl Window {
    /// Takes note of a number; tells whether it is new. What lags too far behind counts as seen. Numbers begin with 1.
    pub(super) fn admit(&mut self, number: u64) -> bool {
        if number == 0 || number + WIDTH <= self.highest {
            return false;
        }
        if number > self.highest {
            let passed = (self.highest + 1..=number).take(WIDTH as usize);
            passed.for_each(|between| self.set(between, false));
            // Of a long way only the last part is left in the window.
            let first = number.saturating_sub(WIDTH - 1).max(1);
            if self.highest + WIDTH < number {
                (first..=number).for_each(|between| self.set(between, false));
            }
            self.highest = number;
        }
        let (word, bit) = place(number);
        let is_new = self.seen[word] & bit == 0;
        self.set(number, true);
        is_new
    }

    fn set(&mut self, number: u64, is_seen: bool) {
        let (word, bit) = place(number);
        if is_seen { self.seen[word] |= bit } else { self.seen[word] &= !bit }
    }
}

fn place(number: u64) -> (usize, u64) {
    let at = number % WIDTH;
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn no_number_counts_twice_whatever_their_order() {
        let (mut window, mut rng) = (Window::default(), Rng::new(7));
        let (mut seen, mut highest) = (BTreeSet::new(), 0);
        for _ in 0..200_000 {
            let number = match rng.below(100) {
                0 => highest + rng.below(3 * WIDTH),
                1..40 => highest + 1,
                _ => highest.saturating_sub(rng.below(2 * WIDTH)),
            };
            let is_admitted = window.admit(number);
            highest = highest.max(number);
            let is_new = number > 0 && number + WIDTH > highest && !seen.contains(&number);
            assert_eq!(is_admitted, is_new, "{number}, highest {highest}");
            seen.insert(number);
        }
    }
}
