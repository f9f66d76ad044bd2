//! What an autoscaled service is given on the command line: flags that `stampede scale` and `stampede forecast` share.

use std::time::Duration;

use clap::Args;
use stampede_scale::{
    Basis, CloudRunParameters, CpuAllocation, HpaParameters, PRICES, Policy, Price, ServiceSettings, price,
};

use crate::mistake::Gathered;
use crate::quantity::parse_time;
use crate::suggestion::or_list;
use crate::value_list::OrList;

/// What Cloud Run gives an instance of a service that says nothing (cloud.google.com/run/docs/about-concurrency).
pub(crate) const CONCURRENCY: u32 = 80;

/// By what pods are paid for by default.
const POD_PRICE: &str = "eks-fargate";

/// How instances are started and what each is given, unread. `None` takes the default.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceFlags {
    /// Requests that an instance is given at once, at most [default: 80]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub concurrency: Option<String>,
    /// Minimum number of instances [default: 0; 1 with --policy hpa]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub min_instances: Option<String>,
    /// Maximum number of instances [default: as many as fit this machine's processors and memory; 4 with --platform kubernetes]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub max_instances: Option<String>,
    /// Connections that the shared database accepts: limits the number of instances by their workers
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Service")]
    pub max_connections: Option<String>,
    /// Which autoscaler: cloud-run, knative, or hpa (Kubernetes' HorizontalPodAutoscaler on CPU) [default: cloud-run; hpa with
    /// --platform kubernetes]
    #[arg(long, value_name = "NAME", help_heading = "Service")]
    pub policy: Option<String>,
    /// With --policy hpa: share of their CPU that instances should use [default: 80%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, help_heading = "Service")]
    pub cpu_target: Option<String>,
}

/// How long requests may wait.
#[derive(Args, Clone, Debug, Default)]
pub struct WaitingFlags {
    /// How long a request may wait for an instance [default: the policy's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Service")]
    pub queue_limit: Option<String>,
    /// How long a request may take until its answer begins [default: 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Service")]
    pub request_timeout: Option<String>,
}

/// What it costs.
#[derive(Args, Clone, Debug, Default)]
pub struct PriceFlag {
    /// Price list, such as azure-container-apps; --price help lists all [default: cloud-run-requests]
    #[arg(long, value_name = "NAME", value_parser = OrList(price_list), help_heading = "Service")]
    pub price: Option<String>,
}

/// What `--price` takes: each name, and below it whose price it is, where, and when it is paid.
fn price_list() -> String {
    let lines = PRICES.iter().map(|price| {
        let paid = match price.basis {
            Basis::Requests => "paid while an instance answers requests",
            Basis::Instances => "paid while an instance lives (forecast --cpu-always)",
        };
        format!("{}\n    {}\n    {}\n    {paid}\n", price.id, price.provider, price.regions)
    });
    lines.collect()
}

/// The autoscaler: the first that there is where none is named.
pub(crate) fn read_policy(flags: &ServiceFlags, mistakes: &mut Gathered) -> Policy {
    let [default, ..] = Policy::NAMES;
    let typed = flags.policy.as_deref().unwrap_or(default);
    let policy = Policy::named(typed).unwrap_or_else(|| {
        let names = Policy::NAMES.join(", ");
        mistakes.add(format!("--policy {typed}"), "is no autoscaler that is known", format!("choose one of {names}"));
        Policy::CloudRun(CloudRunParameters::default())
    });
    match (policy, flags.cpu_target.as_deref()) {
        (Policy::Hpa(parameters), Some(target)) => {
            let target = f64::from(read_share("--cpu-target", target, mistakes)) / 1e3;
            Policy::Hpa(HpaParameters { cpu_target: target, ..parameters })
        }
        (policy, Some(target)) => {
            let problem = format!("is for hpa, and {} has a target of its own", policy.name());
            mistakes.add(format!("--cpu-target {target}"), problem, "add --policy hpa, or leave it out");
            policy
        }
        (policy, None) => policy,
    }
}

/// A share, as `70%` or `0.7`, in thousandths.
pub(crate) fn read_share(flag: &str, typed: &str, mistakes: &mut Gathered) -> u32 {
    let share = match typed.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => typed.parse(),
    };
    match share {
        Ok(share) if (0.01..=1.0).contains(&share) => (share * 1e3).round() as u32,
        _ => {
            mistakes.add(
                format!("{flag} {typed}"),
                "is not a share from 1 to 100 %",
                format!("for example {flag} 70%"),
            );
            1000
        }
    }
}

/// The price of a service with this autoscaler by default: that of pods, or by request.
pub(crate) fn default_price(policy: &Policy) -> &'static Price {
    let of_pods = price(POD_PRICE).filter(|_| matches!(policy, Policy::Hpa(_)));
    of_pods.unwrap_or_else(by_request)
}

/// The price that is taken where none is named: by request.
pub(crate) fn by_request() -> &'static Price {
    PRICES.iter().find(|price| price.basis == Basis::Requests).unwrap_or(&PRICES[0])
}

/// The price of that name, or where none is named the first that is paid at the times at which instances have CPU; of pods, that of
/// a cluster that sells them.
pub(crate) fn read_price(
    typed: Option<&str>,
    policy: &Policy,
    allocation: CpuAllocation,
    mistakes: &mut Gathered,
) -> &'static Price {
    let (basis, fix) = match allocation {
        CpuAllocation::DuringRequests => (Basis::Requests, "add --cpu-always"),
        CpuAllocation::Always => (Basis::Instances, "leave out --cpu-always"),
    };
    let fits = || PRICES.iter().filter(|price| price.basis == basis);
    let default = match (policy, basis) {
        (Policy::Hpa(_), Basis::Instances) => default_price(policy),
        _ => fits().next().unwrap_or(&PRICES[0]),
    };
    let Some(typed) = typed else { return default };
    let place = format!("--price {typed}");
    match price(typed) {
        Some(price) if price.basis == basis => return price,
        Some(_) => mistakes.add(place, "is for instances that have their CPU at other times", fix),
        None => {
            mistakes.add(place, "is not known", or_list("--price", typed, fits().map(|price| price.id)));
        }
    }
    default
}

/// How many instances there may be, where each of their workers opens a connection to a database that takes so many; and what is told
/// of that.
pub(crate) fn connected_instances(
    most: u32,
    least: u32,
    workers: u32,
    connections: Option<u32>,
    mistakes: &mut Gathered,
) -> (u32, Option<String>) {
    let Some(connections) = connections else { return (most, None) };
    let hold = connections / workers.max(1);
    let opened = if workers == 1 { "1 connection".to_owned() } else { format!("{workers} connections") };
    if hold < least.max(1) {
        let place = format!("--max-connections {connections}");
        let problem = format!("is too few for {} instances that may open {opened} each", least.max(1));
        mistakes.add(place, problem, "raise it, or give an instance fewer workers");
        return (most, None);
    }
    let told = (hold < most).then(|| {
        format!(
            "--max-connections {connections} hold {hold} instances that may open {opened} each: there are no more than that, not {most}"
        )
    });
    (most.min(hold), told)
}

/// The connections of a database.
pub(crate) fn read_connections(typed: Option<&str>, mistakes: &mut Gathered) -> Option<u32> {
    let read = |typed: &str| typed.parse().ok().filter(|connections: &u32| *connections > 0);
    let typed = typed?;
    let flag = ("--max-connections", Some(typed));
    Some(mistakes.value(flag, 100, read, "is not a whole number above 0", "for example --max-connections 100"))
}

/// A whole number.
pub(crate) fn read_count(flag: &str, typed: Option<&str>, default: u32, mistakes: &mut Gathered) -> u32 {
    let fix = format!("for example {flag} {default}");
    mistakes.value((flag, typed), default, |typed| typed.parse().ok(), "is not a whole number", fix)
}

/// A time that may be none, and of any length.
pub(crate) fn read_any_time(flag: &str, typed: Option<&str>, default: Duration, mistakes: &mut Gathered) -> Duration {
    mistakes.value((flag, typed), default, parse_time, "is not a length of time", format!("for example {flag} 10s"))
}

/// How long requests wait for an instance, where that was given, and how long they may take in all.
pub(crate) fn read_waiting(flags: &WaitingFlags, mistakes: &mut Gathered) -> (Option<Duration>, Duration) {
    let WaitingFlags { queue_limit, request_timeout } = flags;
    let wait =
        queue_limit.as_deref().map(|typed| read_any_time("--queue-limit", Some(typed), Duration::ZERO, mistakes));
    (wait, read_any_time("--request-timeout", request_timeout.as_deref(), ServiceSettings::REQUEST_TIMEOUT, mistakes))
}

/// What cannot be so of a service on this platform.
pub(crate) fn check_service(policy: &Policy, service: &ServiceSettings, mistakes: &mut Gathered) {
    for problem in policy.problems(service) {
        let [place, problem, fix] = problem.parts();
        mistakes.add(place, problem, fix);
    }
}

/// That instances are given fewer requests at once than was asked for, where they are.
pub(crate) fn fewer_at_once(policy: &Policy, service: &ServiceSettings) -> Option<String> {
    let (asked, given) = (service.concurrency, policy.concurrency(service));
    (given != asked).then(|| {
        format!(
            "--concurrency {asked} is {given} on {} CPU: {} gives an instance below 1 CPU one request at a time",
            service.cpus,
            policy.name()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_no_more_than_a_database_has_connections_for() {
        for (name, least, workers, connections, most, told, mistaken) in [
            ("no database", 0, 5, None, 30, false, false),
            ("enough", 0, 3, Some(90), 30, false, false),
            ("for fewer", 0, 5, Some(97), 19, true, false),
            ("for one", 1, 97, Some(97), 1, true, false),
            ("for none", 0, 98, Some(97), 30, false, true),
            ("for less than the fewest", 20, 5, Some(97), 30, false, true),
        ] {
            let mut mistakes = Gathered::default();
            let (given, said) = connected_instances(30, least, workers, connections, &mut mistakes);
            assert_eq!((given, said.is_some(), !mistakes.is_empty()), (most, told, mistaken), "{name}: {said:?}");
        }
    }
}
