//! Sentences on patterns over time, which each format shows in its own way.

use super::plain::{bytes, count, counted, duration};
use super::prose::Line;
use crate::report::Report;
use crate::report::v1::{AllFollowed, Chains, Followed, Herds, Informers, Pattern, Polling, Watches};

pub(super) fn lines(pattern: &Pattern) -> Vec<Line> {
    let informers = pattern.informers.as_ref().map(informers);
    let polling = pattern.polling.as_ref().and_then(polling);
    let herds = pattern.herds.as_ref().and_then(herds);
    let chains = pattern.chains.as_ref().map(chains);
    let watches = pattern.watches.as_ref().and_then(watches);
    [polling, herds, informers, chains, watches].into_iter().flatten().collect()
}

fn informers(informers: &Informers) -> Line {
    let relists = &informers.relists;
    let why = [
        (relists.expired, "after an expired revision"),
        (relists.refused, "after a refused WATCH"),
        (relists.ended, "after a WATCH that had ended"),
    ];
    let why = some_of(why.map(|(count, what)| (count, what.to_owned())));
    let all = relists.expired + relists.refused + relists.ended;
    let mut text = counted(informers.starts, "start") + " of informers";
    if all > 0 {
        let most = count(informers.most_relists);
        text =
            format!("{text}; {} by LIST ({why}), {most} of one informer at most", counted(all, "new start"));
    }
    if informers.starts_twice > 0 {
        text = format!("{text}; {} with the same whole LIST twice", counted(informers.starts_twice, "start"));
    }
    Line::default().text(text)
}

fn polling(polling: &Polling) -> Option<Line> {
    let busiest = polling.busiest.first()?;
    let text = format!(
        "every {}{}, {} by ",
        duration(busiest.median_micros),
        match busiest.spread_micros / 2 {
            0 => String::new(),
            off => format!(" (± {})", duration(off)),
        },
        counted(busiest.reads, "time"),
    );
    let by = &busiest.instance;
    let line = match by.name.as_str() {
        "" => Line::default().text(text).text("an instance that the log does not name"),
        name => Line::default().text(text).text(format!("{} ", by.by)).code(name),
    };
    Some(match polling.pollers {
        0 | 1 => line,
        more => line.text(format!("; {} such series, {} reads in total", count(more), count(polling.reads))),
    })
}

fn herds(herds: &Herds) -> Option<Line> {
    let greatest = herds.greatest.first()?;
    let (day, time) = greatest.from.split_once('T')?;
    let time = time.trim_end_matches('Z').split('.').next()?;
    let text = |objects: Option<u64>, size: Option<u64>| match (objects, size) {
        (_, Some(size)) => Some(bytes(size)),
        (objects, None) => Some(counted(objects?, "object")),
    };
    let parts = [
        text(greatest.etcd_objects, greatest.etcd_bytes).map(|etcd| format!("{etcd} from etcd")),
        text(greatest.received_objects, greatest.received_bytes).map(|sent| {
            if greatest.received_is_mean {
                format!("about {sent} received")
            } else {
                format!("{sent} received at most")
            }
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let cost = if parts.is_empty() { String::new() } else { format!("; together {}", parts.join(" and ")) };
    Some(Line::default().text(format!(
        "{} of 10 or more instances at once, {} in total; the largest: {} with {}, {day} {time} UTC{cost}",
        counted(herds.count, "herd"),
        counted(herds.requests, "LIST"),
        counted(greatest.instances, "instance"),
        counted(greatest.requests, "LIST"),
    )))
}

fn chains(chains: &Chains) -> Line {
    let what = [
        (chains.expired, "met a revision that had expired".to_owned()),
        (chains.restarted, "were begun again after it".to_owned()),
    ];
    let what = some_of(what);
    let text = format!(
        "{} in {}, the longest of {} in {}",
        counted(chains.count, "LIST"),
        counted(chains.pages, "page"),
        counted(chains.longest_pages, "page"),
        duration(chains.longest_micros),
    );
    let inconsistent = match chains.inconsistent_pages {
        0 => String::new(),
        pages => format!("; {} at a newer revision than the first", counted(pages, "page")),
    };
    let what = if what.is_empty() { what } else { format!("; {what}") };
    Line::default().text(format!("{text}{what}{inconsistent}"))
}

fn watches(watches: &Watches) -> Option<Line> {
    let short = match watches.short {
        0 => String::new(),
        short => format!(
            "{} of {} WATCHes that ended lived less than a minute",
            count(short),
            count(watches.ended)
        ),
    };
    let doubled = match watches.doubled {
        0 => String::new(),
        doubled => format!(
            "{} ran beside another of the same, up to {} at once, in {}",
            count(doubled),
            count(watches.most_at_once),
            counted(watches.doubled_instances, "instance"),
        ),
    };
    let fallbacks = match watches.fallbacks {
        0 => String::new(),
        fallbacks => format!("{} refused with sendInitialEvents, with a LIST after", count(fallbacks)),
    };
    let text: Vec<String> = [short, doubled, fallbacks].into_iter().filter(|text| !text.is_empty()).collect();
    (!text.is_empty()).then(|| Line::default().text(text.join("; ")))
}

fn some_of<const N: usize>(parts: [(u64, String); N]) -> String {
    let some = parts.into_iter().filter(|(number, _)| *number > 0);
    some.map(|(number, what)| format!("{} {what}", count(number))).collect::<Vec<_>>().join(", ")
}

/// Describes the requests that the patterns over time do not cover. Empty if they cover all requests.
pub(super) fn left_out(report: &Report) -> Vec<String> {
    let of = |followed: &Followed, what: &str| {
        (followed.left_out > 0).then(|| {
            let one_of = match followed.one_of {
                0 | 1 => String::new(),
                some => {
                    format!(" one instance of {} was followed, chosen by a hash of its name;", count(some))
                }
            };
            let each = match followed.earliest_of_each {
                None => String::new(),
                Some(each) => format!(" of each instance the first {} were followed;", count(each)),
            };
            format!(
                "patterns over time:{one_of}{each} {} of {} {what} were left out of them",
                count(followed.left_out),
                count(followed.left_out + followed.requests),
            )
        })
    };
    let AllFollowed { lists, watches, objects } = &report.followed;
    let all = [of(lists, "LISTs"), of(watches, "WATCHes"), of(objects, "GETs of single objects")];
    all.into_iter().flatten().collect()
}
