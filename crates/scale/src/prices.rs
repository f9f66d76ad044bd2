//! The table of prices. A row is data: add one with its date and where it was read.

use std::time::Duration;

use crate::{Basis, FreeTier, Price};

/// Google Cloud Run in tier 1, billed by requests.
const CLOUD_RUN: Price = Price {
    id: "cloud-run-requests",
    provider: "Google Cloud Run",
    regions: "tier 1, such as us-central1, europe-west1 and asia-northeast1",
    currency: "USD",
    basis: Basis::Requests,
    vcpu_second: 0.000_024,
    gib_second: 0.000_002_5,
    idle_vcpu_second: 0.000_002_5,
    idle_gib_second: 0.000_002_5,
    million_requests: 0.40,
    free: FreeTier { vcpu_seconds: 180_000.0, gib_seconds: 360_000.0, requests: 2e6 },
    granularity: Duration::from_millis(100),
    read: "2026",
    source: "https://cloud.google.com/run/pricing",
};

/// Prices by which a bill can be made, the first unless another is asked for.
pub const PRICES: &[Price] = &[
    CLOUD_RUN,
    Price {
        id: "cloud-run-instances",
        basis: Basis::Instances,
        vcpu_second: 0.000_018,
        gib_second: 0.000_002,
        idle_vcpu_second: 0.0,
        idle_gib_second: 0.0,
        million_requests: 0.0,
        free: FreeTier { vcpu_seconds: 240_000.0, gib_seconds: 450_000.0, requests: 0.0 },
        ..CLOUD_RUN
    },
    // The free tier is a discount at the prices of tier 1, here taken at those of tier 2: some dollars a month less.
    Price {
        id: "cloud-run-requests-tier-2",
        regions: "tier 2, such as europe-west3, us-west2 and southamerica-east1",
        vcpu_second: 0.000_033_6,
        gib_second: 0.000_003_5,
        idle_vcpu_second: 0.000_003_5,
        idle_gib_second: 0.000_003_5,
        source: "https://cloud.google.com/run/pricing, as firebase-tools 15.1 has it (lib/deploy/functions/pricing.js)",
        ..CLOUD_RUN
    },
    Price {
        id: "azure-container-apps",
        provider: "Azure Container Apps, consumption plan",
        regions: "Central US",
        currency: "USD",
        basis: Basis::Requests,
        vcpu_second: 0.000_024,
        gib_second: 0.000_003,
        idle_vcpu_second: 0.000_003,
        idle_gib_second: 0.000_003,
        million_requests: 0.40,
        free: FreeTier { vcpu_seconds: 180_000.0, gib_seconds: 360_000.0, requests: 2e6 },
        granularity: Duration::from_secs(1),
        read: "2026",
        source: "https://azure.microsoft.com/en-us/pricing/details/container-apps/",
    },
    // A minute at the least is paid for each pod, which is left out here.
    Price {
        id: "eks-fargate",
        provider: "AWS Fargate, pods of EKS",
        regions: "us-east-1, x86",
        currency: "USD",
        basis: Basis::Instances,
        vcpu_second: 0.040_48 / 3600.0,
        gib_second: 0.004_445 / 3600.0,
        idle_vcpu_second: 0.0,
        idle_gib_second: 0.0,
        million_requests: 0.0,
        free: FreeTier { vcpu_seconds: 0.0, gib_seconds: 0.0, requests: 0.0 },
        granularity: Duration::from_secs(1),
        read: "2026-11",
        source: "https://aws.amazon.com/fargate/pricing/, as https://www.vantage.sh/blog/fargate-pricing has it",
    },
];

/// The price of this name.
pub fn price(id: &str) -> Option<&'static Price> {
    PRICES.iter().find(|price| price.id == id)
}
