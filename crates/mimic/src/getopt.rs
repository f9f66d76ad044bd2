//! Command lines as `getopt` and GNU `getopt_long` read them (getopt(3)).

use crate::flags::{Flag, Style, Typed, dashed};

/// Reads options; with `anywhere` those after an operand too, and long ones by any beginning that is unique.
pub(crate) fn read<'a>(flags: &'static [Flag], args: &'a [String], anywhere: bool) -> Typed<'a> {
    let mut typed = Typed::default();
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--") {
            Some("") => break,
            Some(long) => read_long(flags, arg, long, &mut args, anywhere, &mut typed),
            None if arg.len() > 1 && arg.starts_with('-') => read_letters(flags, arg, &mut args, &mut typed),
            None => {
                typed.operands.push(arg);
                if !anywhere {
                    break;
                }
            }
        }
    }
    typed.operands.extend(args);
    typed
}

fn read_long<'a>(
    flags: &'static [Flag],
    arg: &'a str,
    long: &'a str,
    args: &mut impl Iterator<Item = &'a str>,
    abbreviated: bool,
    typed: &mut Typed<'a>,
) {
    let (name, given) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
    let is_long = |known: &&&str| known.len() > 1;
    let exact = flags.iter().find(|flag| flag.names.iter().filter(is_long).any(|known| *known == name));
    let mut begun = flags.iter().filter(|flag| flag.names.iter().filter(is_long).any(|known| known.starts_with(name)));
    let flag = match (exact, begun.next(), begun.next()) {
        (Some(flag), ..) => flag,
        (None, Some(flag), None) if abbreviated => flag,
        (None, Some(_), Some(_)) if abbreviated => {
            return typed.mistake(arg, "is the beginning of more than one option", "see --help");
        }
        _ => return typed.mistake(arg, "is not one of its options", "see --help"),
    };
    match (flag.value, given) {
        (None, None) => typed.option(flag, arg.to_owned(), ""),
        (None, Some(_)) => typed.mistake(arg, "takes no value", format!("write --{name}")),
        (Some(_), Some(value)) => typed.option(flag, arg.to_owned(), value),
        (Some(value), None) => match args.next() {
            Some(given) => typed.option(flag, format!("{arg} {given}"), given),
            None => typed.mistake(arg, "has no value", format!("write {arg} {value}")),
        },
    }
}

/// Reads `-kc3`: letters up to one that takes a value, which is the rest of the word or the next one.
fn read_letters<'a>(
    flags: &'static [Flag],
    arg: &'a str,
    args: &mut impl Iterator<Item = &'a str>,
    typed: &mut Typed<'a>,
) {
    let mut rest = &arg[1..];
    while let Some(letter) = rest.chars().next() {
        let (name, after) = rest.split_at(letter.len_utf8());
        rest = after;
        let shown = dashed(Style::Getopt, name);
        let Some(flag) = flags.iter().find(|flag| flag.names.contains(&name)) else {
            typed.mistake(shown, "is not one of its options", "see --help");
            continue;
        };
        let Some(value) = flag.value else {
            typed.option(flag, shown, "");
            continue;
        };
        let given = if rest.is_empty() { args.next() } else { Some(rest) };
        match given {
            Some(given) => typed.option(flag, format!("{shown} {given}"), given),
            None => typed.mistake(shown.as_str(), "has no value", format!("write {shown} {value}")),
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{refused, switch, valued};

    static FLAGS: &[Flag] = &[
        valued(&["c", "connections"], "N", ""),
        valued(&["n"], "N", ""),
        switch(&["k"], ""),
        switch(&["latency", "L"], ""),
        valued(&["lines"], "N", ""),
        refused(&["s", "script"], Some("FILE"), "leave it out"),
    ];

    fn said(args: &[&str], anywhere: bool) -> String {
        let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let typed = read(FLAGS, &args, anywhere);
        let of = |name| typed.all(name).map(|value| format!("{name}={value} ")).collect::<String>();
        let places: Vec<_> = typed.mistakes.iter().map(|mistake| mistake.place.as_str()).collect();
        let options = format!("{}{}{}{}", of("c"), of("n"), of("k"), of("latency"));
        format!("{options}| {} | {}", typed.operands.join(" "), places.join(", "))
    }

    #[test]
    fn letters_share_a_word() {
        for (args, expected) in [
            (&["-n100", "-c", "2", "-k", "u"][..], "c=2 n=100 k= | u | "),
            (&["-kc3", "-kn", "9", "u"], "c=3 n=9 k= k= | u | "),
            (&["-c", "-1", "u", "-k"], "c=-1 | u -k | "),
            (&["-k", "--", "-n"], "k= | -n | "),
            (&["-", "-k"], "| - -k | "),
            (&["-kxs", "file", "--connec", "2", "-\u{e9}"], "k= | 2 -\u{e9} | -x, -s file, --connec"),
            (&["-kc"], "k= |  | -c"),
        ] {
            assert_eq!(said(args, false), expected, "{args:?}");
        }
    }

    #[test]
    fn long_options_stand_anywhere_and_may_be_cut() {
        for (args, expected) in [
            (&["u", "-c2", "--connections=3", "--conn", "4"][..], "c=2 c=3 c=4 | u | "),
            (&["--latency", "u", "-L"], "latency= latency= | u | "),
            (&["--l", "--latency=1", "--c", "--", "--s=x", "--k"], "c=-- |  | --l, --latency=1, --s=x, --k"),
            (&["--connections"], "|  | --connections"),
        ] {
            assert_eq!(said(args, true), expected, "{args:?}");
        }
    }
}
