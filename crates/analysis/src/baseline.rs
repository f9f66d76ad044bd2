//! What is known of cases and their machine before any verdict: how long a case warms up, by how much it differs from itself, and
//! whether the machine kept its speed.

mod drift;
mod noise;
mod pilot;
mod window;

pub use self::drift::{Drift, drift};
pub use self::noise::{BUSY, calibrates, noise_floor, within_budget};
pub use self::pilot::{LEAST_WARM_UP, MOST_PILOT, PilotWatch, untold};
pub use self::window::{LifetimeCost, window};
