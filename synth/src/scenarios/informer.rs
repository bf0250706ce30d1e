//! An informer as client-go makes it: a LIST from the watch cache, then watches of 5 to 10 minutes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::api::Kind;
use super::identity::Who;
use super::planned_request::{PlannedRequest, list, watch};
use super::world::{MINUTE, Open, SECOND, World};

#[derive(Clone)]
pub struct Informer {
    who: Who,
    kind: Kind,
    namespace: String,
    selectors: Vec<(&'static str, String)>,
    stopped: Rc<Cell<bool>>,
    open: Rc<RefCell<Option<Open>>>,
}

impl Informer {
    /// An informer of all objects.
    pub fn new(who: &Who, kind: Kind) -> Self {
        Self {
            who: Rc::clone(who),
            kind,
            namespace: String::new(),
            selectors: Vec::new(),
            stopped: Rc::default(),
            open: Rc::default(),
        }
    }

    pub fn ns(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.selectors.push(("fieldSelector", selector.into()));
        self
    }

    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.selectors.push(("labelSelector", selector.into()));
        self
    }

    /// Starts after a delay.
    pub fn start(self, world: &mut World, delay: i64) -> Self {
        let informer = self.clone();
        world.after(delay, move |world| informer.begin(world));
        self
    }

    /// Has been running since before the log began.
    pub fn running(self, world: &mut World) -> Self {
        let life = lifetime(world);
        let age = world.up_to(life);
        let planned = self.watch(world, life);
        let open = world.opened_before(planned, world.now - age);
        *self.open.borrow_mut() = Some(open);
        self.clone().end_after(world, life - age);
        self
    }

    /// Ends the WATCH, because the process or the object is gone.
    pub fn stop(&self, world: &mut World) {
        self.stopped.set(true);
        if let Some(open) = self.open.borrow_mut().take() {
            world.close(&self.who, open);
        }
    }

    fn begin(self, world: &mut World) {
        if self.stopped.get() {
            return;
        }
        if world.is_down() {
            let delay = world.between(SECOND, 8 * SECOND);
            self.start(world, delay);
            return;
        }
        if self.who.streams && world.version.serves_streams() {
            self.stream(world);
            return;
        }
        if self.who.streams {
            let refused = self.initial(world).status(422).millis(1);
            world.send(&self.who, refused);
        }
        self.list(world, true);
    }

    fn list(self, world: &mut World, first: bool) {
        let planned = self.selected(list(self.kind)).q("limit", "500");
        let planned = if first { planned.q("resourceVersion", "0") } else { planned };
        world.send(&self.who, planned);
        let delay = world.between(SECOND / 20, SECOND / 4);
        world.after(delay, move |world| self.begin_watch(world));
    }

    fn stream(self, world: &mut World) {
        let planned = self.initial(world);
        let life = seconds_of(&planned);
        *self.open.borrow_mut() = Some(world.open(&self.who, planned));
        self.end_after(world, life);
    }

    fn begin_watch(self, world: &mut World) {
        if self.stopped.get() {
            return;
        }
        let life = lifetime(world);
        let planned = self.watch(world, life);
        *self.open.borrow_mut() = Some(world.open(&self.who, planned));
        self.end_after(world, life);
    }

    fn end_after(self, world: &mut World, life: i64) {
        let cut = world.down.map(|(from, _)| from - world.now).filter(|until| (0..life).contains(until));
        world.after(cut.unwrap_or(life), move |world| {
            let Some(open) = self.open.borrow_mut().take() else { return };
            world.close(&self.who, open);
            match world.down {
                Some((_, until)) if cut.is_some() => {
                    let delay = until - world.now + world.between(SECOND, 12 * SECOND);
                    world.after(delay, move |world| self.begin_again(world));
                }
                _ => self.begin_watch(world),
            }
        });
    }

    /// After a restart of the apiserver: the revision is older than the new watch cache, so the WATCH expires at once.
    fn begin_again(self, world: &mut World) {
        let life = lifetime(world);
        let planned = self.watch(world, life);
        let open = world.open(&self.who, planned);
        let who = Rc::clone(&self.who);
        world.after(SECOND / 100, move |world| {
            world.close(&who, open);
            if self.who.streams && world.version.serves_streams() {
                self.stream(world);
            } else {
                self.list(world, false);
            }
        });
    }

    fn watch(&self, world: &mut World, life: i64) -> PlannedRequest {
        let revision = world.revision - world.rng.below(300);
        self.options(life).q("resourceVersion", revision.to_string())
    }

    fn initial(&self, world: &mut World) -> PlannedRequest {
        let life = lifetime(world);
        self.options(life).q("resourceVersionMatch", "NotOlderThan").q("sendInitialEvents", "true")
    }

    fn options(&self, life: i64) -> PlannedRequest {
        let seconds = life / SECOND;
        self.selected(watch(self.kind))
            .q("allowWatchBookmarks", "true")
            .q("timeout", format!("{}m{}s", seconds / 60, seconds % 60))
            .q("timeoutSeconds", seconds.to_string())
            .q("watch", "true")
    }

    fn selected(&self, planned: PlannedRequest) -> PlannedRequest {
        self.selectors
            .iter()
            .fold(planned.ns(&*self.namespace), |planned, (key, value)| planned.q(key, value.clone()))
    }
}

/// As client-go draws `timeoutSeconds`.
fn lifetime(world: &mut World) -> i64 {
    world.between(5 * MINUTE, 10 * MINUTE) / SECOND * SECOND
}

fn seconds_of(planned: &PlannedRequest) -> i64 {
    let seconds = planned.query.iter().find(|(key, _)| *key == "timeoutSeconds");
    seconds.and_then(|(_, value)| value.parse::<i64>().ok()).expect("a timeout") * SECOND
}
