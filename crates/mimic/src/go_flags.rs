//! Command lines as Go's package `flag` reads them (<https://pkg.go.dev/flag#hdr-Command_line_flag_syntax>).

use crate::flags::{Flag, Style, Typed, dashed};

/// Reads options up to the first word that is none; the others are operands.
pub(crate) fn read<'a>(flags: &'static [Flag], args: &'a [String]) -> Typed<'a> {
    let mut typed = Typed::default();
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let name = match arg.strip_prefix('-').map(|rest| rest.strip_prefix('-').unwrap_or(rest)) {
            Some("") if arg == "--" => break,
            None | Some("") => {
                typed.operands.push(arg);
                break;
            }
            Some(name) => name,
        };
        let (name, given) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        let Some(flag) = flags.iter().find(|flag| flag.names.contains(&name)) else {
            typed.mistake(arg, "is not one of its options", "see --help");
            continue;
        };
        let shown = dashed(Style::Go, name);
        match (flag.value, given) {
            (None, None | Some("true")) => typed.option(flag, shown, ""),
            (None, Some("false")) => {}
            (None, Some(_)) => typed.mistake(arg, "takes no value", format!("write {shown}")),
            (Some(_), Some(value)) => typed.option(flag, arg.to_owned(), value),
            (Some(value), None) => match args.next() {
                Some(given) => typed.option(flag, format!("{shown} {given}"), given),
                None => typed.mistake(shown.as_str(), "has no value", format!("write {shown} {value}")),
            },
        }
    }
    typed.operands.extend(args);
    typed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{refused, switch, valued};

    static FLAGS: &[Flag] = &[
        valued(&["n"], "N", ""),
        valued(&["H"], "HEADER", ""),
        switch(&["h2"], ""),
        refused(&["x"], Some("PROXY"), "leave it out"),
    ];

    /// The options that were understood, the operands and where mistakes are.
    fn said(args: &[&str]) -> String {
        let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let typed = read(FLAGS, &args);
        let of = |name| typed.all(name).map(|value| format!("{name}={value} ")).collect::<String>();
        let places: Vec<_> = typed.mistakes.iter().map(|mistake| mistake.place.as_str()).collect();
        format!("{}{}{}| {} | {}", of("n"), of("H"), of("h2"), typed.operands.join(" "), places.join(", "))
    }

    #[test]
    fn options_end_at_the_first_operand() {
        for (args, expected) in [
            (&["-n", "5", "u"][..], "n=5 | u | "),
            (&["--n=5", "-n=6", "u"], "n=5 n=6 | u | "),
            (&["-n", "-5", "u"], "n=-5 | u | "),
            (&["-H", "a: -n", "-H=b=c", "u"], "H=a: -n H=b=c | u | "),
            (&["-h2", "u", "-n", "5"], "h2= | u -n 5 | "),
            (&["-h2=true", "--h2=false", "--", "-n"], "h2= | -n | "),
            (&["-", "-n"], "| - -n | "),
            (&[], "|  | "),
            (&["-h2=maybe", "-n5", "-x", "y", "-z", "-x=z", "u", "-n"], "| u -n | -h2=maybe, -n5, -x y, -z, -x=z"),
            (&["-n"], "|  | -n"),
        ] {
            assert_eq!(said(args), expected, "{args:?}");
        }
    }
}
