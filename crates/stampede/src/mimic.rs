//! `stampede hey`, `stampede ab`, `stampede wrk`: those tools' own options and layouts, on our load engine.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use stampede_conduct::Host;
use stampede_drive::{ToolFailure, ToolOutput, drive_tool};
use stampede_mimic::Tool;

use crate::exit::Failure;
use crate::{destination, screen};

/// Does what the tool would do, and ends as it would.
pub(crate) fn end(tool: Tool, args: &[String], host: &dyn Host) -> ExitCode {
    ExitCode::from(drive_tool(tool, args, host, &Printed).unwrap_or_else(|ToolFailure { code, message }| {
        message.lines().for_each(screen::error);
        code
    }))
}

/// Output of this process.
struct Printed;

impl ToolOutput for Printed {
    fn print(&self, text: &str) -> Result<(), Failure> {
        screen::print(text)
    }

    fn writable(&self, path: &Path) -> io::Result<()> {
        stampede_machine::writable(path)
    }

    fn put(&self, path: &Path, text: &str) -> Result<(), Failure> {
        destination::put_bytes(path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use stampede_core::Bytes;
    use stampede_mimic::{CommandLine, Surroundings};
    use stampede_plan::{LoadPlan, MachineSize};

    use super::*;
    use crate::args::{Args, Asked};

    /// Each option that is not done, and what is not done of others.
    #[test]
    fn what_is_not_done_names_a_command_that_is_taken() {
        let machine = MachineSize { cpus: 4, memory: Bytes::from_mib(1024), connections: 1000 };
        let surroundings = Surroundings { machine, read_file: &|_| Ok(b"abc".to_vec()) };
        for (tool, line) in [
            (Tool::Hey, "-x http://p:3128 -c 3 -z 5s -H X-A:b -a u:p https://h/a?b=c&d"),
            (Tool::Hey, "-x http://p:3128 -q 10 -m POST -D body.json -h2 -host other https://h/"),
            (Tool::Hey, "-x http://p:3128 -n 300 -disable-keepalive -disable-redirects -d it's https://h/"),
            (Tool::Ab, "-b 4096 -n 100 -c 10 -k http://h/"),
            (Tool::Ab, "-b 4096 -t 10 -i -H Host:x -C a=b -A u:p -B 127.0.0.2 http://h/"),
            (Tool::Ab, "-b 4096 -X p:3128 -u body -T a/b http://h/"),
            (Tool::Ab, "-v 2 -m DELETE -s 5 http://h/"),
            (Tool::Ab, "-X p:3128 -E cert.pem https://h/"),
            (Tool::Ab, "-f TLS1.1 -p body https://h/"),
            (Tool::Ab, "-f SSL3 https://h/"),
        ] {
            let args: Vec<_> = line.split(' ').map(str::to_owned).collect();
            let said = CommandLine::read(tool, &args, surroundings).unwrap_err().to_string();
            let (_, command) = said.split_once("or without it: ").unwrap_or_else(|| panic!("{line}: {said}"));
            let words = shlex::split(command).unwrap();
            let parsed = Args::try_parse_from(&words).unwrap_or_else(|error| panic!("{command}: {error}"));
            let Some(Asked::Load(load)) = parsed.command else { panic!("{command}") };
            LoadPlan::read(&load.flags, b"abc".to_vec(), machine).unwrap_or_else(|error| panic!("{command}: {error}"));
        }
    }
}
