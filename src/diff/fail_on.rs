//! The conditions of `kubetoll diff --fail-on`.

use std::fmt;
use std::str::FromStr;

use super::contract::{DiffReport, DiffTotal, Difference};
use super::unit::Unit;

/// A condition under which a comparison fails.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DiffFailOn {
    /// A client sends requests of a shape that it did not send before.
    NewShape,
    /// A finding that the base side does not have.
    Finding,
    /// A total rises by more than a limit.
    Total { metric: &'static str, limit: RiseLimit },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RiseLimit {
    /// In percent of the total before.
    Percent(f64),
    /// In requests or watches.
    Number(f64),
}

const METRICS: [&str; 4] = ["requests", "etcd-reads", "writes", "watches"];

impl FromStr for DiffFailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "use new-shape, finding, or a limit such as etcd-reads>+10% or watches>+0; limits are for {}",
                METRICS.join(", ")
            )
        };
        match text {
            "new-shape" => return Ok(Self::NewShape),
            "finding" => return Ok(Self::Finding),
            _ => {}
        }
        let (metric, limit) = text.split_once('>').ok_or_else(wrong)?;
        let metric = METRICS.into_iter().find(|known| *known == metric.trim()).ok_or_else(wrong)?;
        let limit = limit.trim().strip_prefix('+').ok_or_else(wrong)?;
        let number = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite() && *number >= 0.0)
                .ok_or_else(wrong)
        };
        let limit = match limit.strip_suffix('%') {
            Some(percent) => RiseLimit::Percent(number(percent)?),
            None => RiseLimit::Number(number(limit)?),
        };
        Ok(Self::Total { metric, limit })
    }
}

impl DiffFailOn {
    /// Why the comparison fails; `None` if it does not.
    pub(super) fn failure(&self, report: &DiffReport, unit: &Unit) -> Option<String> {
        match self {
            Self::NewShape => {
                let new: Vec<_> =
                    report.changes.iter().filter(|change| change.change == Difference::New).collect();
                let first = new.first()?;
                let more = match new.len() - 1 {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                Some(format!("new-shape: {} sends {}{more}", first.client, first.shape))
            }
            Self::Finding => {
                let first = report.new_findings.first()?;
                let more = match report.new_findings.len() - 1 {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                Some(format!("finding: {} ({}) for {}{more}", first.rule, first.rule_name, first.client))
            }
            Self::Total { metric, limit } => {
                let of_metric = report.totals.iter().filter(|total| total.metric == *metric);
                of_metric
                    .filter(|total| limit.is_exceeded(total))
                    .map(|total| failed_total(*limit, total, unit))
                    .next()
            }
        }
    }
}

impl RiseLimit {
    fn is_exceeded(self, total: &DiffTotal) -> bool {
        let allowed = match self {
            Self::Percent(percent) => total.before * percent / 100.0,
            Self::Number(number) => number,
        };
        // A sum of fractions has rounding errors.
        total.decided > allowed + 1e-9
    }
}

fn failed_total(limit: RiseLimit, total: &DiffTotal, unit: &Unit) -> String {
    let per = if total.phase == "start" { "per start of each client".to_owned() } else { unit.text() };
    let DiffTotal { metric, before, after, decided, .. } = total;
    let part = if (decided - (after - before)).abs() < 0.005 {
        String::new()
    } else {
        format!(" ({decided:+.2} is more than chance)")
    };
    format!("{metric}>{limit}: from {before:.2} to {after:.2} {per}{part}")
}

impl fmt::Display for RiseLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "+{percent}%"),
            Self::Number(number) => write!(f, "+{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_parse() {
        let total = |metric, limit| Ok(DiffFailOn::Total { metric, limit });
        assert_eq!("new-shape".parse(), Ok(DiffFailOn::NewShape));
        assert_eq!("finding".parse(), Ok(DiffFailOn::Finding));
        assert_eq!("etcd-reads>+10%".parse(), total("etcd-reads", RiseLimit::Percent(10.0)));
        assert_eq!("watches>+0".parse(), total("watches", RiseLimit::Number(0.0)));
        assert_eq!("writes > +2.5".parse(), total("writes", RiseLimit::Number(2.5)));
        for bad in
            ["", "new", "reads>+1", "requests", "requests>1", "requests>+x%", "requests>+-1", "writes>+inf"]
        {
            assert!(bad.parse::<DiffFailOn>().is_err(), "{bad}");
        }
    }

    #[test]
    fn chance_exceeds_no_limit() {
        let total = |before, after, decided| DiffTotal {
            metric: "requests",
            phase: "steady",
            before,
            after,
            decided,
        };
        assert!(RiseLimit::Percent(10.0).is_exceeded(&total(10.0, 11.1, 1.1)));
        assert!(!RiseLimit::Percent(10.0).is_exceeded(&total(10.0, 11.1, 0.0)));
        assert!(!RiseLimit::Percent(10.0).is_exceeded(&total(10.0, 15.0, 1.0)));
        assert!(RiseLimit::Number(0.0).is_exceeded(&total(0.0, 1.0, 1.0)));
    }
}
