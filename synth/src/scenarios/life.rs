//! A process that may end. Its timers then stop and its watches close.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::informer::Informer;
use super::world::World;

/// A handle of a process; clones are the same process.
#[derive(Clone, Default)]
pub struct Life {
    ended: Rc<Cell<bool>>,
    informers: Rc<RefCell<Vec<Informer>>>,
}

impl Life {
    /// Adds an informer that ends with the process.
    pub fn add(&self, informer: Informer) {
        self.informers.borrow_mut().push(informer);
    }

    /// Calls a step at a period until the process ends.
    pub fn every(&self, world: &mut World, period: i64, mut step: impl FnMut(&mut World) + 'static) {
        let ended = Rc::clone(&self.ended);
        let first = world.up_to(period);
        world.repeat(first, move |world| {
            if ended.get() {
                return None;
            }
            step(world);
            Some(period - period / 20 + world.up_to(period / 10))
        });
    }

    /// Calls a step by a timer without jitter until the process ends.
    pub fn clock(&self, world: &mut World, period: i64, mut step: impl FnMut(&mut World) + 'static) {
        let ended = Rc::clone(&self.ended);
        let first = world.up_to(period);
        world.repeat(first, move |world| {
            if ended.get() {
                return None;
            }
            step(world);
            Some(period + world.up_to(3_000))
        });
    }

    /// Calls a step after a delay, unless the process has ended by then.
    pub fn after(&self, world: &mut World, delay: i64, step: impl FnOnce(&mut World) + 'static) {
        let ended = Rc::clone(&self.ended);
        world.after(delay, move |world| {
            if !ended.get() {
                step(world);
            }
        });
    }

    /// The process ends.
    pub fn end(&self, world: &mut World) {
        self.ended.set(true);
        for informer in self.informers.borrow_mut().drain(..) {
            informer.stop(world);
        }
    }
}
