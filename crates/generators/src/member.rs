//! An agent that drives parts of loads.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stampede_agent::{AgentHost, AgentVantage, PATIENCE};
use stampede_seam::{Backend, Vantage as _};

use crate::carried::{CarriedStream, Carrying};
use crate::generators_error::GeneratorsError;
use crate::most;

/// How often it is looked whether a short load is over.
const LOOK: Duration = Duration::from_millis(10);

/// An agent that drives parts of loads.
pub struct Member {
    pub(crate) agent: Arc<AgentVantage>,
    pub(crate) host: AgentHost,
    /// What carries its stream, where that is known.
    pub(crate) carrier: Option<Box<dyn Carrying>>,
    /// Requests a second that it can offer at most, where that was measured.
    pub(crate) most: OnceLock<f64>,
}

impl Member {
    /// A member by an agent whose line has begun.
    ///
    /// # Errors
    ///
    /// When it is lost.
    pub async fn of(agent: Arc<AgentVantage>) -> Result<Self, GeneratorsError> {
        let host = agent.describe().await.map_err(|lost| GeneratorsError(vec![lost.to_string()]))?;
        Ok(Self { agent, host, carrier: None, most: OnceLock::new() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.agent.agent()
    }

    /// Begins its line, and asks what it runs on. Otherwise why not, and what its carrier reported.
    pub(crate) async fn begin(name: String, stream: CarriedStream) -> Result<Self, (String, String)> {
        let CarriedStream { output, input, carrier } = stream;
        let begun = async {
            let agent = AgentVantage::begin(name, output, input, PATIENCE).await?;
            let host = agent.describe().await?;
            Ok((agent, host))
        };
        match begun.await {
            Ok((agent, host)) => Ok(Self { agent, host, carrier: Some(carrier), most: OnceLock::new() }),
            Err::<_, stampede_agent::LostAgent>(lost) => Err((lost.reason.to_string(), carrier.said())),
        }
    }

    /// Measures what it can offer at most on these processors, of which it has so many for itself.
    pub(crate) async fn measure_most(&self, cpus: &[u32], processors: f64, backend: Backend) -> Result<f64, String> {
        let server = self.agent.serve_nothing().await.map_err(|lost| lost.to_string())??;
        let mut measured = Err(String::new());
        for window in most::WINDOWS {
            let order = most::order(server, cpus, window, backend);
            let mut load = self.agent.load(order).map_err(|error| error.to_string())?;
            while !load.look().is_finished {
                tokio::time::sleep(LOOK).await;
            }
            let outcome = load.finish().await.map_err(|error| error.to_string())?;
            measured = most::rate(&outcome.result, processors);
            if measured.is_ok() {
                break;
            }
        }
        let most = measured?;
        Ok(*self.most.get_or_init(|| most))
    }

    /// The last that its carrier reported.
    pub(crate) fn said(&self) -> String {
        self.carrier.as_ref().map(|carrier| carrier.said()).unwrap_or_default()
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("agent", &self.agent).field("host", &self.host).finish_non_exhaustive()
    }
}
