//! The table of tariffs. A row is data: add one with its date and where it was read.

use std::time::Duration;

use stampede_core::{Bytes, Cpus};

use crate::{MachineOffer, PRICES, PriceBound, Tariff, TariffRates};

/// Prices by which sizes can be compared, the first unless another is asked for.
#[must_use]
pub fn tariffs() -> Vec<Tariff> {
    let own = [
        // What Fargate charges for a vCPU and a GB, as a measure for any size: Fargate itself rounds up to its steps.
        tariff_of(
            "core-hours",
            "AWS Fargate's rates for a vCPU and a GB, Linux on x86, US East (N. Virginia), for any size",
            "USD",
            TariffRates::Hours { core: 0.04048, gib: 0.004_445, bound: PriceBound::AtLeast },
            "2026-09",
            FARGATE,
        ),
        tariff_of(
            "fargate",
            "AWS Fargate, Linux on x86, US East (N. Virginia)",
            "USD",
            TariffRates::Machines(fargate()),
            "2026-09",
            FARGATE,
        ),
        tariff_of(
            "lambda",
            "AWS Lambda, x86, US East (N. Virginia), without its free tier",
            "USD",
            TariffRates::Functions {
                gib_second: 0.000_016_666_7,
                million_requests: 0.20,
                // docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html: at 1,769 MB a function has one vCPU.
                memory_of_a_core: Bytes::from_mib(1769),
                granularity: Duration::from_millis(1),
            },
            "2026-11",
            "https://docs.aws.amazon.com/whitepapers/latest/how-aws-pricing-works/lambda.html",
        ),
        // Shared CPUs have a sixteenth of a core for long (fly.io/docs/machines/cpu-performance), and are not what was measured.
        tariff_of(
            "fly-performance",
            "Fly.io performance Machines, Ashburn (iad), a month of 30 days",
            "USD",
            TariffRates::Machines(vec![
                machine("performance-1x", 1000, 2 << 10, 33.00),
                machine("performance-2x", 2000, 4 << 10, 66.00),
            ]),
            "2026-11",
            "https://fly.io/docs/about/pricing/",
        ),
        tariff_of(
            "digitalocean-basic",
            "DigitalOcean Basic Droplets, whose vCPUs are shared, prices of 1 July 2022",
            "USD",
            TariffRates::Machines(vec![
                machine("1 vCPU, 512 MiB", 1000, 512, 4.00),
                machine("1 vCPU, 1 GiB", 1000, 1 << 10, 6.00),
                machine("1 vCPU, 2 GiB", 1000, 2 << 10, 12.00),
                machine("2 vCPU, 2 GiB", 2000, 2 << 10, 18.00),
                machine("2 vCPU, 4 GiB", 2000, 4 << 10, 24.00),
                machine("4 vCPU, 8 GiB", 4000, 8 << 10, 48.00),
                machine("8 vCPU, 16 GiB", 8000, 16 << 10, 96.00),
            ]),
            "2026-11",
            "https://gist.github.com/colinwilson/cd31bde012f6727b24b2fc4ebee749c0",
        ),
        // Orders since 15 June 2026 cost something else, which could not be read.
        tariff_of(
            "hetzner-cx",
            "Hetzner Cloud CX, whose vCPUs are shared, Germany, without VAT, ordered before 15 June 2026",
            "EUR",
            TariffRates::Machines(vec![machine("CX23", 2000, 4 << 10, 3.99), machine("CX33", 4000, 8 << 10, 6.49)]),
            "2026-05",
            "https://docs.vdhome.be/reference/costs/ and https://github.com/devantler-tech/platform/commit/cb791c6f",
        ),
    ];
    let instances = PRICES.iter().map(|price| Tariff {
        id: price.id.to_owned(),
        provider: format!("{}, {}", price.provider, price.regions),
        currency: price.currency.to_owned(),
        rates: TariffRates::Instance(price),
        read: price.read.to_owned(),
        source: price.source.to_owned(),
    });
    own.into_iter().chain(instances).collect()
}

/// The tariff of this name.
#[must_use]
pub fn tariff(id: &str) -> Option<Tariff> {
    tariffs().into_iter().find(|tariff| tariff.id == id)
}

/// The rate of a vCPU is that of an example of the page (0.000011244 for a second), the one of a GB from
/// gist.github.com/turtlemonvh/89ceb82d80bfee10c19db33f45f8a7b4: the page's own table is not in its text.
const FARGATE: &str = "https://aws.amazon.com/fargate/pricing/";

/// Fargate's sizes up to 4 vCPU (docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html).
fn fargate() -> Vec<MachineOffer> {
    let steps: [(u32, &[u64]); 5] = [
        (250, &[512, 1024, 2048]),
        (500, &[1024, 2048, 3072, 4096]),
        (1000, &[2048, 3072, 4096, 6144, 8192]),
        (2000, &[4096, 8192, 16_384]),
        (4000, &[8192, 16_384, 30_720]),
    ];
    let of = |(millis, sizes): (u32, &'static [u64])| {
        sizes.iter().map(move |mib| {
            let (cpus, gb) = (f64::from(millis) / 1000.0, *mib as f64 / 1024.0);
            machine(&format!("{cpus} vCPU, {gb} GB"), millis, *mib, 730.0 * (0.04048 * cpus + 0.004_445 * gb))
        })
    };
    steps.into_iter().flat_map(of).collect()
}

fn machine(name: &str, millis: u32, mib: u64, month: f64) -> MachineOffer {
    MachineOffer { name: name.to_owned(), cpus: Cpus::from_millis(millis), memory: Bytes::from_mib(mib), month }
}

fn tariff_of(id: &str, provider: &str, currency: &str, rates: TariffRates, read: &str, source: &str) -> Tariff {
    let text = str::to_owned;
    Tariff {
        id: text(id),
        provider: text(provider),
        currency: text(currency),
        rates,
        read: text(read),
        source: text(source),
    }
}
