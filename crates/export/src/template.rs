//! Filling in the templates of what stands around a configuration.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

use crate::export_error::ExportError;

/// A file with gaps.
pub(crate) struct Template {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
}

impl Template {
    /// Fills the gaps. A gap without a value is an error, never an empty string.
    pub(crate) fn fill(&self, values: Value) -> Result<String, ExportError> {
        let problem = |source| ExportError::Template { template: self.name, source };
        let syntax = SyntaxConfig::builder()
            // The usual ones are in `${#array[@]}` of Bash.
            .comment_delimiters("<#", "#>")
            .trim_blocks(true)
            .lstrip_blocks(true)
            .keep_trailing_newline(true)
            .build();
        let mut environment = Environment::empty();
        environment.add_filter("join", minijinja::filters::join);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(syntax.map_err(problem)?);
        environment.render_named_str(self.name, self.source, values).map_err(problem)
    }
}
