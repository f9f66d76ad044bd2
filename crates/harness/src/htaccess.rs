//! Where a `.htaccess` file has the mistake that Apache complains of: Apache names the file and what is wrong, and seldom the line.
//!
//! Sources of its sentences: `server/config.c` and `server/core.c` of Apache 2.4.

use stampede_core::Outcome;
use stampede_seam::Running;

const NAME: &str = ".htaccess";

/// More lines than this are no place.
const MOST_PLACES: usize = 4;

/// Sentences that do not name the directive that they are of.
const SENTENCES: [(&str, &[&str]); 4] = [
    ("first argument must be 'add'", &["Header", "RequestHeader"]),
    ("Cannot parse condition clause", &["<If", "<ElseIf"]),
    ("Regex could not be compiled", &["<Files", "<FilesMatch"]),
    ("name regex could not be compiled", &["SetEnvIf", "SetEnvIfNoCase"]),
];

/// Whether a directive may have so many arguments.
type IsRight = fn(usize) -> bool;

/// How many it may have by a sentence, the longer ones first: some begin as others do.
const COUNTS: [(&str, IsRight); 11] = [
    (" takes no arguments", |count| count == 0),
    (" takes one, two or three arguments", |count| (1..=3).contains(&count)),
    (" takes one or three arguments", |count| count == 1 || count == 3),
    (" takes one argument", |count| count == 1),
    (" takes 1-2 arguments", |count| (1..=2).contains(&count)),
    (" takes two or three arguments", |count| (2..=3).contains(&count)),
    (" takes two arguments", |count| count == 2),
    (" takes three arguments", |count| count == 3),
    (" requires three arguments", |count| count == 3),
    (" requires at least two arguments", |count| count >= 2),
    (" requires additional arguments", |count| count >= 1),
];

/// The places of mistakes that the units of a deployment have logged, each with what mends it:
/// `fix: public/.htaccess:3: Invalid command 'Foo': correct its name, ...`.
pub(crate) async fn fixes(running: &dyn Running) -> Vec<String> {
    let Ok(app) = running.resolve("@{app}") else { return Vec::new() };
    let mut fixes = Vec::new();
    for line in running.units().iter().flat_map(|unit| running.logs(unit).lines) {
        let Some((file, message)) = complaint(&line, &app) else { continue };
        let text = running.read(&format!("@{{app}}/{file}")).await.ok().flatten().unwrap_or_default();
        let fix = format!("{}{}", Outcome::FIX, told(file, &text, message));
        if !fixes.contains(&fix) {
            fixes.push(fix);
        }
    }
    fixes
}

/// The file of the application in which Apache found a mistake, and what it says of it.
fn complaint<'a>(line: &'a str, app: &str) -> Option<(&'a str, &'a str)> {
    let inside = &line[line.find(&format!("{app}/"))? + app.len() + 1..];
    let end = inside.find(&format!("{NAME}: "))? + NAME.len();
    Some((&inside[..end], &inside[end + 2..]))
}

/// A place, what is wrong there and what mends it.
fn told(file: &str, text: &str, message: &str) -> String {
    // Of a section that was not closed it names the line as well, after the file once more.
    let own = message.split_once(&format!("{NAME}:")).and_then(|(_, rest)| rest.split_once(": "));
    let (lines, problem) = match own {
        Some((line, problem)) => (vec![line.to_owned()], problem),
        None => (places(&directives(text), message).iter().map(usize::to_string).collect(), message),
    };
    let problem = problem.split(", perhaps misspelled").next().unwrap_or(problem).trim_end_matches('.');
    let place = if lines.is_empty() { file.to_owned() } else { format!("{file}:{}", lines.join(" or ")) };
    format!("{place}: {problem}: {}", remedy(problem))
}

/// A line with its continuations.
struct Directive {
    /// The number of the first line.
    line: usize,
    /// `RewriteRule`, `<IfModule`, `</IfModule`.
    name: String,
    arguments: String,
}

impl Directive {
    fn is(&self, name: &str) -> bool {
        !name.is_empty() && self.name.eq_ignore_ascii_case(name)
    }

    /// How many arguments it has: words, or texts in quotation marks.
    fn count(&self) -> usize {
        let (mut count, mut is_within, mut quote) = (0, false, None);
        for character in self.arguments.chars() {
            match quote {
                Some(end) if character == end => quote = None,
                Some(_) => {}
                None if character.is_whitespace() => is_within = false,
                None => {
                    count += usize::from(!is_within);
                    is_within = true;
                    quote = Some(character).filter(|character| ['"', '\''].contains(character));
                }
            }
        }
        count
    }
}

fn directives(text: &str) -> Vec<Directive> {
    let mut directives = Vec::new();
    let mut begun: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let (first, mut whole) = begun.take().unwrap_or((number + 1, String::new()));
        match line.strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                begun = Some((first, whole));
            }
            None => {
                whole.push_str(line);
                let whole = whole.trim();
                if !whole.is_empty() && !whole.starts_with('#') {
                    let (name, arguments) = whole.split_once(char::is_whitespace).unwrap_or((whole, ""));
                    directives.push(Directive {
                        line: first,
                        name: name.trim_end_matches('>').to_owned(),
                        arguments: arguments.trim().to_owned(),
                    });
                }
            }
        }
    }
    directives
}

/// The lines that a message may mean: which sections are read depends on Apache's modules, so several can be. None where it fits too
/// many.
fn places(directives: &[Directive], message: &str) -> Vec<usize> {
    let (astray, open) = sections(directives);
    if message.contains("without matching") || message.contains(" but saw ") {
        return astray.into_iter().collect();
    }
    let found: Vec<&Directive> =
        match message.strip_prefix("Expected </").and_then(|rest| rest.split_once("> before end")) {
            Some((section, _)) => open.into_iter().filter(|begun| begun.is(&format!("<{section}"))).collect(),
            None => named(directives, message),
        };
    if found.len() > MOST_PLACES { Vec::new() } else { found.iter().map(|directive| directive.line).collect() }
}

/// The directives that a message names, or those that it is known to be of.
fn named<'a>(directives: &'a [Directive], message: &str) -> Vec<&'a Directive> {
    let words: Vec<&str> =
        message.split_whitespace().map(|word| word.trim_matches(['\'', ',', '.', ':', '>'])).collect();
    let quoted: Vec<&str> = message.split('\'').skip(1).step_by(2).collect();
    let of_sentence = SENTENCES.iter().find(|(part, _)| message.contains(part)).map_or(&[][..], |(_, names)| names);
    let is_named = |directive: &&Directive| match of_sentence {
        [] => words.iter().any(|word| directive.is(word)),
        names => names.iter().any(|name| directive.is(name)),
    };
    let named: Vec<&Directive> = directives.iter().filter(is_named).collect();
    let last = words.last().copied().unwrap_or_default();
    let is_meant = |directive: &&Directive| match (COUNTS.iter().find(|(part, _)| message.contains(part)), of_sentence)
    {
        (Some((_, is_right)), _) => !is_right(directive.count()),
        (None, []) => quoted.iter().any(|quoted| directive.arguments.contains(quoted)),
        (None, _) => directive.arguments.split_whitespace().next().is_none_or(|first| !quoted.contains(&first)),
    };
    let meant: Vec<&Directive> = named.iter().copied().filter(is_meant).collect();
    match (meant.is_empty(), named.is_empty()) {
        (false, _) => meant,
        (true, false) => named,
        // `Illegal option Foo`: what is wrong stands last, in whatever directive.
        (true, true) => directives
            .iter()
            .filter(|directive| {
                directive.arguments.split_whitespace().any(|word| word.trim_start_matches(['+', '-']) == last)
            })
            .collect(),
    }
}

/// The first end of a section that ends another one or none, and the sections that are never ended.
fn sections(directives: &[Directive]) -> (Option<usize>, Vec<&Directive>) {
    let mut open: Vec<&Directive> = Vec::new();
    for directive in directives {
        if let Some(ended) = directive.name.strip_prefix("</") {
            if !open.pop().is_some_and(|begun| begun.is(&format!("<{ended}"))) {
                return (Some(directive.line), open);
            }
        } else if directive.name.starts_with('<') {
            open.push(directive);
        }
    }
    (None, open)
}

/// What mends a mistake.
fn remedy(problem: &str) -> &'static str {
    match problem {
        _ if problem.starts_with("Invalid command 'php_") => {
            "write it under ini in stampede.yaml, and put it between <IfModule mod_php.c> and </IfModule> here: PHP-FPM takes no \
             setting from .htaccess"
        }
        _ if problem.starts_with("Invalid command ") => {
            "correct its name, or put it between <IfModule mod_NAME.c> and </IfModule>: no module that is loaded has it"
        }
        _ if problem.ends_with("not allowed here") => "remove it: it belongs into the server's own configuration",
        _ if problem.contains("was not closed") || problem.contains("before end") => "write its end",
        _ if problem.contains("without matching") || problem.contains(" but saw ") => {
            "let each section have its own end"
        }
        _ => "correct this line",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# RewriteEngine in a remark
Options -Indexes
<IfModule mod_rewrite.c>
    RewriteEngine On
    RewriteRule ^a$ b \\
        [L]
    RewriteBase
    RewriteBase /shop
</IfModule>
Bogus On
<IfModule mod_missing.c>
    bogus Off
</IfModule>
php_value memory_limit 1G
ErrorDocument 404
<Directory \"/srv\">
</Directory>
Options -Indexes +Foo
RewriteCond %{HTTP_HOST} \"^(a$\"
";

    #[test]
    fn a_complaint_leads_to_its_line() {
        for (message, expected) in [
            (
                "Invalid command 'Bogus', perhaps misspelled or defined by a module not included in the server configuration",
                "10 or 12: Invalid command 'Bogus': correct its name, or put it between <IfModule mod_NAME.c> and",
            ),
            (
                "Invalid command 'php_value', perhaps misspelled or defined by a module",
                "14: Invalid command 'php_value': write it under ini in stampede.yaml",
            ),
            ("<Directory not allowed here", "16: <Directory not allowed here: remove it"),
            (
                "RewriteBase takes one argument, the base URL of the per-directory context",
                "7: RewriteBase takes one argument, the base URL of the per-directory context: correct this line",
            ),
            ("ErrorDocument takes two arguments, Change responses for HTTP errors", "15: "),
            ("RewriteEngine must be On or Off", "4: "),
            ("RewriteCond: cannot compile regular expression '^(a$'", "19: "),
            ("Illegal option Foo", "18: Illegal option Foo: correct this line"),
        ] {
            let told = told("public/.htaccess", TEXT, message);
            assert!(told.starts_with(&format!("public/.htaccess:{expected}")), "{message}\n{told}");
        }
    }

    #[test]
    fn a_sentence_that_names_no_directive_leads_to_those_that_it_is_of() {
        const TEXT: &str = "Header set a b\nHeader sett a b\n<If \"%{a\">\n</If>\nOptions -Indexes FollowSymLinks\n\
            AddType text/x\nAddType text/y .y\nRequire ip 1.2.3.400\n<FilesMatch \"a(\">\n</FilesMatch>\n";
        for (message, place) in [
            ("first argument must be 'add', 'set', 'setifempty', or 'edit*'.", ":2"),
            ("Cannot parse condition clause: syntax error, unexpected T_ERROR", ":3"),
            ("Either all Options must start with + or -, or no Option may.", ":5"),
            ("AddType requires at least two arguments, a mime type followed by one or more file extensions", ":6"),
            ("Unknown Authz provider: ip", ":8"),
            ("Regex could not be compiled", ":9"),
            ("Something else is wrong", ""),
        ] {
            let told = told(".htaccess", TEXT, message);
            assert!(told.starts_with(&format!(".htaccess{place}: ")), "{message}\n{told}");
        }
        let many = "Bogus On\n".repeat(9);
        assert!(told(".htaccess", &many, "Invalid command 'Bogus', perhaps").starts_with(".htaccess: Invalid"));
    }

    #[test]
    fn sections_are_ended_by_their_own_ends() {
        for (text, message, expected) in [
            (
                "<IfModule a>\n  <Files b>\n</IfModule>\n",
                "Expected </Files> but saw </IfModule>",
                ".htaccess:3: Expected </Files> but saw </IfModule>: let each",
            ),
            ("A\n\n</IfModule>\n", "</IfModule> without matching <IfModule> section", ".htaccess:3: "),
            (
                "A\n<IfModule missing>\nB\n",
                "Expected </IfModule> before end of configuration",
                ".htaccess:2: Expected </IfModule> before end of configuration: write its end",
            ),
            (
                "",
                "/run/stampede/1/app/public/.htaccess:4: <IfModule> was not closed.",
                ".htaccess:4: <IfModule> was not closed: write its end",
            ),
            ("", "Foo is wrong", ".htaccess: Foo is wrong: correct this line"),
        ] {
            let told = told(".htaccess", text, message);
            assert!(told.starts_with(expected), "{message}\n{told}");
        }
    }

    #[test]
    fn a_complaint_names_a_file_of_the_application() {
        let line = "2 times: [Thu Nov 26 20:00:00.1 2026] [core:alert] [pid 7:tid 8] [client 127.0.0.1:5060] \
                    /run/stampede/1/app/public/sub/.htaccess: Illegal option Foo";
        assert_eq!(complaint(line, "/run/stampede/1/app"), Some(("public/sub/.htaccess", "Illegal option Foo")));
        assert_eq!(complaint(line, "/srv/app"), None);
        assert_eq!(complaint("[core:notice] /run/stampede/1/app/public/.htaccess", "/run/stampede/1/app"), None);
    }
}
