//! The machine that a study ran on, and how its cores are divided.

use serde::{Deserialize, Serialize};

/// How control groups can be used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupSupport {
    /// Limits are enforced through version 1 controllers.
    V1,
    /// Limits are enforced through the unified hierarchy.
    V2,
    /// Limits cannot be enforced.
    None,
}

/// The machine that a study ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Processors that this process may use.
    pub cpus: u32,
    /// The processor's name.
    pub cpu_model: String,
    /// The kernel's release.
    pub kernel: String,
    /// How limits are enforced.
    pub cgroup: CgroupSupport,
}

/// Which processors serve and which generate load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuLayout {
    /// Processor numbers of the deployment.
    pub server: Vec<u32>,
    /// Processor numbers of the load generator.
    pub generator: Vec<u32>,
}

impl CpuLayout {
    /// Divides the given processors between a deployment of `cores` whole cores and the generator.
    ///
    /// The generator gets a quarter of the machine, at least one core, as long as the deployment keeps the cores that
    /// its limit can use at once; where not even one core is left, both share all of them.
    pub fn divide(available: &[u32], cores: usize) -> Self {
        let spare = available.len().saturating_sub(cores);
        if spare == 0 {
            return Self { server: available.to_vec(), generator: available.to_vec() };
        }
        let generator = (available.len() / 4).clamp(1, spare);
        let (generator, server) = available.split_at(generator);
        Self { server: server.to_vec(), generator: generator.to_vec() }
    }

    /// Whether server and generator compete for the same cores.
    pub fn is_shared(&self) -> bool {
        self.server.iter().any(|cpu| self.generator.contains(cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_generator_get_cores_of_their_own_where_the_limit_leaves_one() {
        let cases: [(u32, usize, &[u32], &[u32]); 5] = [
            (2, 1, &[1], &[0]),
            (2, 2, &[0, 1], &[0, 1]),
            (1, 1, &[0], &[0]),
            (8, 1, &[2, 3, 4, 5, 6, 7], &[0, 1]),
            (8, 7, &[1, 2, 3, 4, 5, 6, 7], &[0]),
        ];
        for (cpus, cores, server, generator) in cases {
            let layout = CpuLayout::divide(&(0..cpus).collect::<Vec<_>>(), cores);
            assert_eq!((layout.server.as_slice(), layout.generator.as_slice()), (server, generator), "{cpus} {cores}");
            assert_eq!(layout.is_shared(), server == generator);
        }
    }
}
