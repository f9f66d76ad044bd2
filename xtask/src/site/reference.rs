//! Reference: documents made of what the program prints about itself, and of the schemas in `docs`.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Documents;
use super::document::Document;

const FOLDER: &str = "docs/reference";

pub(crate) fn documents(root: &Path, program: &Path) -> Result<Documents, String> {
    let pages = [
        ("commands", commands(program)?),
        ("runtimes", runtimes(program)?),
        ("plan-keys", schema(root, "stampede.schema.json", "Keys of stampede.yaml", "$defs")?),
        ("workload-keys", schema(root, "workload.schema.json", "Keys of workload.yaml", "$defs")?),
        ("json-keys", schema(root, "reports.schema.json", "Keys of JSON reports", "definitions")?),
    ];
    Ok(pages.into_iter().map(|(name, text)| (format!("{FOLDER}/{name}.md"), Document::read(&text))).collect())
}

fn output(program: &Path, args: &[&str]) -> Result<String, String> {
    let shown = format!("{} {}", program.display(), args.join(" "));
    let output =
        Command::new(program).args(args).env("NO_COLOR", "1").output().map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr).trim_end()))
    }
}

/// Names of a list's entries: what stands before two blanks in lines that begin there.
fn names(list: &str, indent: &str) -> Vec<String> {
    let rows = list.lines().filter_map(|line| line.strip_prefix(indent));
    rows.filter(|row| !row.starts_with(' '))
        .filter_map(|row| row.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Commands of a help text.
fn subcommands(help: &str) -> Vec<String> {
    let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let mut found = names(list.split("\n\n").next().unwrap_or_default(), "  ");
    found.retain(|name| name != "help");
    found
}

fn commands(program: &Path) -> Result<String, String> {
    let mut text = "# Commands\n\nWhat `--help` prints for each command.\n".to_owned();
    let first = output(program, &["--help"])?;
    let _ = write!(text, "\n```\n{}\n```\n", first.trim_end());
    for name in subcommands(&first) {
        let help = output(program, &[&name, "--help"])?;
        let _ = write!(text, "\n## stampede {name}\n\n```\n{}\n```\n", help.trim_end());
        for below in subcommands(&help) {
            let help = output(program, &[&name, &below, "--help"])?;
            let _ = write!(text, "\n### stampede {name} {below}\n\n```\n{}\n```\n", help.trim_end());
        }
    }
    Ok(text)
}

fn runtimes(program: &Path) -> Result<String, String> {
    let mut text = "# Settings of runtimes\n\nEach setting with its default for one CPU, 512 MiB and 16 connections, the reason, and \
                    its manual.\n"
        .to_owned();
    for name in names(&output(program, &["list", "runtimes"])?, "") {
        // What brings all settings itself has none to show.
        let Ok(shown) = output(program, &["show", "runtime", &name]) else { continue };
        let settings = settings(&shown);
        let title = shown.lines().next().unwrap_or_default().split_once(": ").map_or("", |(_, title)| title);
        let _ = write!(text, "\n## {name}\n\n{title}.\n");
        if !settings.is_empty() {
            let _ = write!(text, "\n| setting | default | what it is | why |\n|---|---|---|---|\n");
        }
        for Setting { name, value, what, why, manual } in settings {
            let name = if manual.is_empty() { format!("`{name}`") } else { format!("[`{name}`]({manual})") };
            let _ = writeln!(text, "| {name} | `{value}` | {} | {} |", cell(&what), cell(&why));
        }
    }
    Ok(text)
}

#[derive(Debug, Default, PartialEq)]
struct Setting {
    name: String,
    value: String,
    what: String,
    why: String,
    manual: String,
}

/// Settings of `stampede show runtime`: `name = value`, then indented text, `because:` and an address.
fn settings(shown: &str) -> Vec<Setting> {
    let mut found: Vec<Setting> = Vec::new();
    for block in shown.split("\n\n") {
        let mut lines = block.lines();
        let Some((name, value)) = lines.next().and_then(|line| line.split_once(" = ")) else { continue };
        if name.contains(' ') {
            continue;
        }
        let mut setting = Setting { name: name.to_owned(), value: value.to_owned(), ..Setting::default() };
        let mut is_reason = false;
        for line in lines.map(str::trim) {
            if line.starts_with("https://") || line.starts_with("http://") {
                line.clone_into(&mut setting.manual);
                continue;
            }
            let line = line.strip_prefix("because:").map_or(line, |reason| {
                is_reason = true;
                reason.trim_start()
            });
            let text = if is_reason { &mut setting.why } else { &mut setting.what };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line);
        }
        found.push(setting);
    }
    found
}

/// A text within one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

fn schema(root: &Path, file: &str, title: &str, definitions: &str) -> Result<String, String> {
    let text = fs::read_to_string(root.join("docs").join(file)).map_err(|error| format!("docs/{file}: {error}"))?;
    let schema: Value = serde_json::from_str(&text).map_err(|error| format!("docs/{file}: {error}"))?;
    let mut out = format!("# {title}\n\nFrom [{file}](../{file}), which editors read.\n");
    if schema["properties"].is_object() {
        let _ = write!(out, "\n## At the top\n\n{}", keys(&schema));
    }
    for (name, definition) in schema[definitions].as_object().into_iter().flatten() {
        let about = definition["description"].as_str().unwrap_or_default();
        let _ = write!(out, "\n## {name}\n\n{}\n\n{}", cell(about), keys(definition));
    }
    Ok(out)
}

fn keys(object: &Value) -> String {
    let Some(properties) = object["properties"].as_object() else { return String::new() };
    let mut out = "| key | holds | what it is |\n|---|---|---|\n".to_owned();
    for (key, value) in properties {
        let mut about = value["description"].as_str().unwrap_or_default().to_owned();
        if let Some(example) = value["examples"][0].as_str() {
            let _ = write!(about, " Example: `{example}`.");
        }
        let _ = writeln!(out, "| `{key}` | {} | {} |", holds(value), cell(&about));
    }
    out
}

/// The types that a key may have.
fn holds(value: &Value) -> String {
    if let Some(reference) = value["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = value["anyOf"].as_array().or_else(|| value["oneOf"].as_array()) {
        let choices: Vec<String> = choices.iter().map(holds).filter(|choice| choice != "null").collect();
        return choices.join(" or ");
    }
    if value["items"].is_object() {
        return format!("list of {}", holds(&value["items"]));
    }
    match &value["type"] {
        Value::String(one) => one.clone(),
        Value::Array(several) => {
            let names: Vec<&str> = several.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
            names.join(" or ")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_from_what_the_program_shows() {
        let shown = "nginx-fpm: nginx\n  status: a = b\n\nsettings for 1 CPUs:\n\npm = static\n    how workers\n    start\n    because: no \
                     surprise,\n    ever\n    https://example.org/pm\n";
        let text = str::to_owned;
        let setting = Setting {
            name: text("pm"),
            value: text("static"),
            what: text("how workers start"),
            why: text("no surprise, ever"),
            manual: text("https://example.org/pm"),
        };
        assert_eq!(settings(shown), [setting]);
    }

    #[test]
    fn commands_are_read_from_help() {
        let help =
            "About\n\nCommands:\n  compare   Compare\n            more\n  help      Print\n\nOptions:\n  -h  Print\n";
        assert_eq!(subcommands(help), ["compare"]);
    }
}
