//! An agent in a pod, with the stream that it is asked over.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use stampede_agent::{AgentVantage, PATIENCE};
use stampede_kubernetes::AgentStream;

/// An agent in a pod. The last of its clones ends it.
#[derive(Clone)]
pub struct PodAgent {
    agent: Arc<AgentVantage>,
    /// Holds the stream open.
    _said: Arc<dyn Fn() -> String + Send + Sync>,
}

impl PodAgent {
    /// Begins a line over a stream.
    ///
    /// # Errors
    ///
    /// When no agent of this version answers: why, and what it wrote or why its pod has ended.
    pub async fn begin(stream: AgentStream) -> Result<Self, String> {
        let AgentStream { pod, node: _, output, input, said } = stream;
        match AgentVantage::begin(format!("in pod {pod}"), output, input, PATIENCE).await {
            Ok(agent) => Ok(Self { agent, _said: Arc::from(said) }),
            Err(lost) => Err(format!("{lost} {}", said()).trim_end().to_owned()),
        }
    }
}

impl Deref for PodAgent {
    type Target = AgentVantage;

    fn deref(&self) -> &AgentVantage {
        &self.agent
    }
}

impl fmt::Debug for PodAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PodAgent").field(&self.agent).finish()
    }
}
