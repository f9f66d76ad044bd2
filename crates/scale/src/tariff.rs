//! What a month of a deployment costs that runs all the time, by its size. The table is in `tariff_table.rs`.

use std::time::Duration;

use stampede_core::{Bytes, Cpus};

use crate::cloud_run::instance_for;
use crate::{Basis, Price, Usage};

/// Hours of a month, as providers count them: 365 days of 24 hours in twelve.
const MONTH_HOURS: f64 = 730.0;

/// Prices by which sizes can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Tariff {
    /// What the command line calls it, or the file that it came from.
    pub id: String,
    /// Whose prices they are, and where they hold.
    pub provider: String,
    /// ISO 4217.
    pub currency: String,
    /// What is paid for.
    pub rates: TariffRates,
    /// When they were read.
    pub read: String,
    /// Where they were read.
    pub source: String,
}

/// What is paid for.
#[derive(Clone, Debug, PartialEq)]
pub enum TariffRates {
    /// CPU and memory of any size, by the hour.
    Hours {
        /// Of a core.
        core: f64,
        /// Of a GiB.
        gib: f64,
        /// Whether a size costs that, or that at the least.
        bound: PriceBound,
    },
    /// Machines of fixed sizes, of which the cheapest that is large enough is bought.
    Machines(Vec<MachineOffer>),
    /// Nodes of a cluster, each shared by as many of one size as fit: the share of the node where that is cheapest.
    Nodes(Vec<MachineOffer>),
    /// An instance of an autoscaled platform that lives all month.
    Instance(&'static Price),
    /// Functions, which are paid for while they answer, in proportion to their memory.
    Functions {
        /// Of a GiB for a second.
        gib_second: f64,
        /// Of a million requests.
        million_requests: f64,
        /// How much memory comes with a core.
        memory_of_a_core: Bytes,
        /// The shortest time that is paid for.
        granularity: Duration,
    },
}

/// A machine that can be bought.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineOffer {
    /// What the provider calls it.
    pub name: String,
    /// Its CPUs.
    pub cpus: Cpus,
    /// Its memory.
    pub memory: Bytes,
    /// Of a month.
    pub month: f64,
}

impl MachineOffer {
    /// How many of a size fit.
    fn fit(&self, cpus: Cpus, memory: Bytes) -> u64 {
        let by_cpus = u64::from(self.cpus.millis() / cpus.millis().max(1));
        by_cpus.min(self.memory.get() / memory.get().max(1))
    }
}

/// How a price stands to what is paid in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceBound {
    /// It is that.
    Exact,
    /// It is no less.
    AtLeast,
    /// It is no more.
    AtMost,
}

/// A size under a load that does not change all month.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadySize {
    /// The limit of CPU.
    pub cpus: Cpus,
    /// The limit of memory.
    pub memory: Bytes,
    /// Requests a second.
    pub rate: f64,
    /// CPU time of a request, where it is known.
    pub work: Option<Duration>,
}

/// What a month costs.
#[derive(Clone, Debug, PartialEq)]
pub struct MonthPrice {
    /// In the currency of the tariff.
    pub amount: f64,
    /// Whether it is a bound.
    pub bound: PriceBound,
    /// The machine that is bought, where it has a name.
    pub offer: Option<String>,
}

impl Tariff {
    /// What a month of a size costs, with nothing free. None of what is not sold so, or cannot be told.
    #[must_use]
    pub fn month(&self, size: &SteadySize) -> Option<MonthPrice> {
        let SteadySize { cpus, memory, rate, work } = *size;
        let gib = |memory: Bytes| memory.mib() / 1024.0;
        match &self.rates {
            TariffRates::Hours { core, gib: gib_hour, bound } => {
                let amount = MONTH_HOURS * (core * cpus.cores() + gib_hour * gib(memory));
                Some(MonthPrice { amount, bound: *bound, offer: None })
            }
            TariffRates::Machines(offers) => {
                let enough = offers.iter().filter(|offer| offer.cpus >= cpus && offer.memory >= memory);
                let cheapest = enough.min_by(|a, b| a.month.total_cmp(&b.month))?;
                Some(MonthPrice {
                    amount: cheapest.month,
                    bound: PriceBound::Exact,
                    offer: Some(cheapest.name.clone()),
                })
            }
            TariffRates::Nodes(nodes) => {
                let shares = nodes.iter().filter_map(|node| {
                    let fit = node.fit(cpus, memory);
                    (fit > 0).then(|| (node.month / fit as f64, fit, node))
                });
                let (amount, fit, node) = shares.min_by(|a, b| a.0.total_cmp(&b.0))?;
                // A node that is not full costs as much.
                let offer = Some(format!("{fit} on {}", node.name));
                Some(MonthPrice { amount, bound: PriceBound::AtLeast, offer })
            }
            TariffRates::Instance(price) => {
                let (cpus, memory) = instance(price, cpus, memory)?;
                let seconds = MONTH_HOURS * 3600.0;
                let usage = Usage {
                    busy_seconds: seconds,
                    kept_idle_seconds: 0.0,
                    lived_seconds: seconds,
                    requests: rate * seconds,
                };
                // Between requests it costs less, and how long that is, is not known.
                let bound = if price.basis == Basis::Requests { PriceBound::AtMost } else { PriceBound::Exact };
                Some(MonthPrice { amount: price.bill(&usage, cpus, memory, false).total(), bound, offer: None })
            }
            TariffRates::Functions { gib_second, million_requests, memory_of_a_core, granularity } => {
                // Whatever the memory, so much CPU time costs so much: with half of it, a request takes twice as long.
                let seconds = work?.max(*granularity).as_secs_f64();
                let requests = rate * MONTH_HOURS * 3600.0;
                let each = seconds * gib(*memory_of_a_core) * gib_second + million_requests / 1e6;
                Some(MonthPrice { amount: requests * each, bound: PriceBound::AtLeast, offer: None })
            }
        }
    }
}

/// Steps of Azure Container Apps: a quarter of a core with half a GiB, up to 4 cores (learn.microsoft.com/azure/container-apps/containers).
const AZURE_STEP: (u32, u64) = (250, 512);
const AZURE_STEPS: u32 = 16;

/// The smallest instance that is no smaller; none where the platform has none that takes several requests at once.
fn instance(price: &Price, cpus: Cpus, memory: Bytes) -> Option<(Cpus, Bytes)> {
    if !price.id.starts_with("azure") {
        return instance_for(cpus, memory);
    }
    let (millis, mib) = AZURE_STEP;
    let steps = cpus.millis().div_ceil(millis).max((memory.mib() / mib as f64).ceil() as u32);
    (steps <= AZURE_STEPS).then(|| (Cpus::from_millis(steps * millis), Bytes::from_mib(u64::from(steps) * mib)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{tariff, tariffs};

    fn month(id: &str, cpus: u32, mib: u64) -> Option<MonthPrice> {
        let work = Some(Duration::from_millis(10));
        let size = SteadySize { cpus: Cpus::from_millis(cpus), memory: Bytes::from_mib(mib), rate: 100.0, work };
        tariff(id).unwrap().month(&size)
    }

    #[test]
    fn a_month_costs_what_a_hand_comes_to() {
        use PriceBound as B;
        // Half a core and a quarter of a GiB: 730 x (0.5 x 0.04048 + 0.25 x 0.004445).
        // Cloud Run: one CPU, 730 x 3600 s x (0.000018 + 0.5 x 0.000002); by requests with 262.8 million of them as well.
        // Azure: 730 x 3600 s x (0.75 x 0.000024 + 1.5 x 0.000003) and the requests. Lambda: 262.8 million x (0.01 s x 1.7275 GiB x 0.0000166667 + 0.0000002).
        for (name, id, cpus, mib, amount, bound, offer) in [
            ("any size", "core-hours", 500, 256, 15.586, B::AtLeast, None),
            ("Fargate's step", "fargate", 500, 256, 18.020, B::Exact, Some("0.5 vCPU, 1 GB")),
            ("an instance", "cloud-run-instances", 500, 512, 49.932, B::Exact, None),
            ("by requests", "cloud-run-requests", 500, 512, 171.477, B::AtMost, None),
            ("Azure's step", "azure-container-apps", 600, 512, 164.25, B::AtMost, None),
            ("a machine", "digitalocean-basic", 500, 600, 6.0, B::Exact, Some("1 vCPU, 1 GiB")),
            ("another", "hetzner-cx", 500, 600, 3.99, B::Exact, Some("CX23")),
            ("a dedicated one", "fly-performance", 500, 600, 33.0, B::Exact, Some("performance-1x")),
            ("functions", "lambda", 500, 600, 128.226, B::AtLeast, None),
        ] {
            let price = month(id, cpus, mib).unwrap();
            assert!((price.amount - amount).abs() < 0.01, "{name}: {price:?}");
            assert_eq!((price.bound, price.offer.as_deref()), (bound, offer), "{name}");
        }
        for (name, id, cpus, mib) in
            [("too many CPUs", "hetzner-cx", 9000, 256), ("too much memory", "cloud-run-instances", 1000, 64 << 10)]
        {
            assert_eq!(month(id, cpus, mib), None, "{name}");
        }
    }

    #[test]
    fn pods_share_the_node_that_is_cheapest_for_them() {
        let node = |name: &str, cpus, mib, month| MachineOffer {
            name: name.to_owned(),
            cpus: Cpus::from_millis(cpus),
            memory: Bytes::from_mib(mib),
            month,
        };
        let nodes = TariffRates::Nodes(vec![node("small", 1900, 3500, 20.0), node("large", 3900, 15_000, 50.0)]);
        let tariff = Tariff { rates: nodes, ..tariffs().remove(0) };
        let month = |cpus, mib| {
            let size =
                SteadySize { cpus: Cpus::from_millis(cpus), memory: Bytes::from_mib(mib), rate: 1.0, work: None };
            tariff.month(&size).map(|price| (price.amount, price.bound, price.offer.unwrap_or_default()))
        };
        // By CPU 3 and 7 of them, by memory 13 and 58.
        assert_eq!(month(500, 256), Some((20.0 / 3.0, PriceBound::AtLeast, "3 on small".to_owned())));
        // By memory 1 and 5.
        assert_eq!(month(500, 3000), Some((10.0, PriceBound::AtLeast, "5 on large".to_owned())));
        assert_eq!(month(4000, 256), None);
    }

    #[test]
    fn each_tariff_says_where_it_was_read_and_has_a_name_of_its_own() {
        let all = tariffs();
        for tariff in &all {
            assert!(tariff.source.starts_with("http") && tariff.read.starts_with("20"), "{tariff:?}");
            assert_eq!(tariff.currency.len(), 3, "{tariff:?}");
            assert_eq!(all.iter().filter(|other| other.id == tariff.id).count(), 1);
        }
        assert_eq!(tariff("nobody"), None);
    }
}
