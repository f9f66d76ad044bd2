//! Filling in the templates of configuration files.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};
use stampede_core::PlanError;

/// A configuration file with gaps, embedded in the program.
pub(crate) struct Template {
    /// Its path below the folder of templates, for messages.
    pub(crate) name: &'static str,
    /// Its text.
    pub(crate) source: &'static str,
}

/// The template at a path below the folder of templates.
macro_rules! template {
    ($name:literal) => {
        $crate::template::Template { name: $name, source: include_str!(concat!("../templates/", $name)) }
    };
}
pub(crate) use template;

impl Template {
    /// Fills the gaps. A gap without a value is an error, never an empty string.
    pub(crate) fn fill(&self, values: Value) -> Result<String, PlanError> {
        let problem = |error: minijinja::Error| PlanError::Template {
            template: self.name.to_owned(),
            problem: error.to_string(),
        };
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(
            SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .keep_trailing_newline(true)
                .build()
                .map_err(problem)?,
        );
        environment.render_named_str(self.name, self.source, values).map_err(problem)
    }
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    #[test]
    fn a_gap_without_a_value_is_an_error_that_names_the_template() {
        let template = Template { name: "x/y.conf.j2", source: "a {{ b }}\n" };
        assert_eq!(template.fill(context! { b => 1 }).unwrap(), "a 1\n");
        let error = template.fill(context! {}).unwrap_err().to_string();
        assert!(error.starts_with("render x/y.conf.j2: "), "{error}");
    }
}
