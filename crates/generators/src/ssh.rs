//! Agents on other machines, by ssh. The program is sent to a folder of the user's cache there, under the hash of its bytes.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// How long a machine may take to let us in and answer.
const ANSWER: Duration = Duration::from_secs(30);

/// How long the program may take to get there: 30 MB at half a megabit a second.
const SENDING: Duration = Duration::from_secs(600);

/// Where programs are.
const FOLDER: &str = r#"d="${XDG_CACHE_HOME:-$HOME/.cache}/stampede/agents""#;

/// What a machine answers with, behind whatever its shell prints.
const PROBE: &str = "stampede-probe";

/// The variable that holds another command than `ssh`, with its arguments.
const COMMAND: &str = "STAMPEDE_SSH";

/// This program, as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct SentProgram {
    bytes: Vec<u8>,
    hash: String,
}

impl SentProgram {
    /// Reads it.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|error| format!("read {}: {error}", path.display()))?;
        let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { bytes, hash })
    }

    /// Sees that it is at a destination.
    pub(crate) async fn send(&self, destination: &str) -> Result<(), String> {
        let Self { bytes, hash } = self;
        let probe = format!(
            r#"{FOLDER}; if [ -x "$d/{hash}" ]; then s=present; else s=absent; fi; echo "{PROBE} $s $(uname -m)""#
        );
        let answered = run(destination, &probe, &[], ANSWER).await?;
        let line = answered.lines().rev().find_map(|line| line.trim().strip_prefix(PROBE));
        let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
        let [state, architecture] = words[..] else {
            return Err(format!(
                "its shell answered {answered:?}; look whether `ssh {destination} sh -c true` works without a question"
            ));
        };
        if architecture != env::consts::ARCH {
            return Err(format!(
                "it is a machine of {architecture}, and this program is for {}; put a Stampede for {architecture} there, and use \
                 exec:'ssh {destination} ...' with a script that starts it in place of the program that follows",
                env::consts::ARCH
            ));
        }
        if state == "present" {
            return Ok(());
        }
        let size = bytes.len();
        let send = format!(
            r#"umask 077; {FOLDER}; f="$d/{hash}"; mkdir -p "$d" && cat > "$f.$$" && [ "$(wc -c < "$f.$$")" -eq {size} ] && chmod 700 "$f.$$" && mv -f "$f.$$" "$f" || {{ rm -f "$f.$$"; echo "the program was not kept in $d" >&2; exit 1; }}"#
        );
        run(destination, &send, bytes, SENDING).await.map(drop)
    }

    /// The command that starts an agent there with these arguments. It takes the machine's lock, where it says what for.
    pub(crate) fn command(&self, destination: &str, lock: Option<&str>, arguments: &[String]) -> Vec<OsString> {
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || " ._-".contains(*letter);
        let lock = lock.map(|purpose| format!(" --lock \"{}\"", purpose.chars().filter(plain).collect::<String>()));
        let arguments: String = arguments.iter().map(|argument| format!(" {argument}")).collect();
        let lock = lock.unwrap_or_default();
        ssh(destination, &format!(r#"{FOLDER}; exec "$d/{}" __agent{arguments}{lock}"#, self.hash))
    }
}

/// The command that runs a script by a shell there, without a terminal and without a question.
fn ssh(destination: &str, script: &str) -> Vec<OsString> {
    let command = env::var(COMMAND).unwrap_or_else(|_| "ssh".to_owned());
    let options = ["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", destination];
    let words = command.split_whitespace().chain(options).map(OsString::from);
    // The user's own shell may be any.
    words.chain([OsString::from(format!("sh -c '{script}'"))]).collect()
}

/// Runs a script there with this input, and gives what it printed.
async fn run(destination: &str, script: &str, input: &[u8], within: Duration) -> Result<String, String> {
    let command = ssh(destination, script);
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("start {}: {error}; install it (openssh-client)", command[0].display()))?;
    let stdin = child.stdin.take();
    let send = async move {
        if let Some(mut stdin) = stdin {
            // Why it was not taken is said at the end.
            let _ = stdin.write_all(input).await;
        }
    };
    let ended = timeout(within, async { tokio::join!(send, child.wait_with_output()).1 }).await;
    let output = ended
        .map_err(|_| format!("ssh did not end within {within:?}; look whether the machine answers"))?
        .map_err(|error| format!("wait for ssh: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(explained(destination, &String::from_utf8_lossy(&output.stderr)))
}

/// What ssh or the shell there said, with what to do about it where that is known.
pub(crate) fn explained(destination: &str, said: &str) -> String {
    let said = said.trim();
    let last = said.lines().last().unwrap_or("nothing");
    let fix = [
        ("host key verification failed", format!("check its key and accept it once by hand: ssh {destination} true")),
        ("identification has changed", "check why its key is another one than before".to_owned()),
        (
            "permission denied",
            format!("give it your key (ssh-copy-id {destination}), or load it into an agent (ssh-add)"),
        ),
        ("no space left", "make room in ~/.cache there".to_owned()),
        ("quota exceeded", "make room in ~/.cache there".to_owned()),
    ];
    let lower = said.to_lowercase();
    match fix.iter().find(|(text, _)| lower.contains(text)) {
        Some((_, fix)) => format!("{last}; {fix}"),
        None => last.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_failures_come_with_what_to_do() {
        for (said, fix) in [
            (
                "No ED25519 host key is known for a.\r\nHost key verification failed.\r\n",
                "accept it once by hand: ssh me@a true",
            ),
            ("me@a: Permission denied (publickey).", "ssh-copy-id me@a"),
            (
                "cat: write error: No space left on device\nthe program was not kept in /x",
                "make room in ~/.cache there",
            ),
            ("ssh: Could not resolve hostname a: Name or service not known", "Name or service not known"),
            ("", "nothing"),
        ] {
            let explained = explained("me@a", said);
            assert!(explained.contains(fix), "{explained}");
        }
    }
}
