//! Makes the folders that units write to, such as empty databases, with the programs of an image.

use std::path::Path;

use stampede_core::{Fut, Program, with_causes};

use super::engine::Engine;
use super::error::DockerError;
use super::image;
use super::sandbox::{Order, Purpose, Sandbox, Shown};
use crate::layout::template_folder::{LIMIT, Maker};
use crate::log_tail::{last_lines, with_log};
use crate::machine::user::User;

/// In a container of its own, without limits and without a network.
pub(crate) struct Contained<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) state_dir: &'a Path,
    pub(crate) image: &'a str,
    pub(crate) user: Option<User>,
}

impl Contained<'_> {
    /// The inner error is what the program printed, with how it ended.
    async fn run_there(&self, program: &Program, folder: &Path) -> Result<Result<String, String>, DockerError> {
        let order = Order {
            image: self.image.to_owned(),
            user: self.user,
            shown: Some(Shown::Folder(folder.to_owned())),
            purpose: Purpose::Aside,
        };
        let sandbox = Sandbox::open(self.engine, self.state_dir, order).await?;
        let Program { path, args, env } = program;
        let mut words = ["env", "-i"].map(str::to_owned).to_vec();
        words.extend(env.iter().map(|(name, value)| format!("{name}={value}")));
        words.push(path.clone());
        words.extend(args.iter().cloned());
        let said = sandbox.inside.ask_in(Some(folder.display().to_string()), words, LIMIT).await;
        sandbox.close().await.map_err(DockerError::Prepare)?;
        said
    }
}

impl Maker for Contained<'_> {
    fn software(&self) -> Fut<'_, Result<String, String>> {
        Box::pin(async { image::id(self.engine, self.image).await.map_err(|error| with_causes(&error)) })
    }

    fn run<'a>(&'a self, program: &'a Program, folder: &'a Path) -> Fut<'a, Result<(), String>> {
        Box::pin(async move {
            let said = self.run_there(program, folder).await.map_err(|error| with_causes(&error))?;
            let failed = |problem: String| {
                with_log(&format!("{} failed in a container", program.path), &last_lines(problem.as_bytes()))
            };
            said.map(drop).map_err(failed)
        })
    }
}
