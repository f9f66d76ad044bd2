//! How a generator is reached.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How a generator is reached, written as `local`, `ssh:DESTINATION`, `exec:COMMAND` or `kubernetes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// As a process of this machine.
    Local,
    /// By ssh, to a destination as ssh takes it: the program is sent where it is missing.
    Ssh(String),
    /// By a command that runs the command which follows it: `ip netns exec client`.
    Exec(Vec<String>),
    /// As a pod of a cluster.
    Kubernetes,
}

impl Carrier {
    /// Reads a list: each may be followed by how many there are, `local:2,ssh:me@host,exec:'ip netns exec client'`. Quotes stand around
    /// what may hold a comma.
    ///
    /// # Errors
    ///
    /// What is wrong with one of them.
    pub fn read_all(text: &str) -> Result<Vec<Self>, ParseCarrierError> {
        let mut all = Vec::new();
        for entry in entries(text)? {
            let (carrier, count) = Self::read(&entry)?;
            all.extend(std::iter::repeat_n(carrier, count));
        }
        if all.len() > Self::MOST {
            return Err(ParseCarrierError::TooMany);
        }
        Ok(all)
    }

    /// The most that one load is shared among.
    pub const MOST: usize = 64;

    fn read(entry: &str) -> Result<(Self, usize), ParseCarrierError> {
        let (kind, rest) = entry.split_once(':').map_or((entry, None), |(kind, rest)| (kind, Some(rest)));
        let counted = |rest: &str| match rest.rsplit_once(':') {
            Some((place, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok((place.to_owned(), count(number)?))
            }
            _ => Ok((rest.to_owned(), 1)),
        };
        match (kind, rest) {
            ("local", None) => Ok((Self::Local, 1)),
            ("local", Some(number)) => Ok((Self::Local, count(number)?)),
            ("kubernetes", None) => Ok((Self::Kubernetes, 1)),
            ("kubernetes", Some(number)) => Ok((Self::Kubernetes, count(number)?)),
            ("ssh", Some(rest)) => {
                let (destination, count) = counted(rest)?;
                // What begins with a dash would be an option of ssh.
                if destination.is_empty() || destination.starts_with('-') || destination.contains(char::is_whitespace) {
                    return Err(ParseCarrierError::Destination(destination));
                }
                Ok((Self::Ssh(destination), count))
            }
            ("exec", Some(rest)) => {
                let (command, count) = counted(rest)?;
                let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
                if words.is_empty() {
                    return Err(ParseCarrierError::Command);
                }
                Ok((Self::Exec(words), count))
            }
            _ => Err(ParseCarrierError::Kind(entry.to_owned())),
        }
    }
}

/// What stands between commas that are not within quotes.
fn entries(text: &str) -> Result<Vec<String>, ParseCarrierError> {
    let (mut all, mut entry, mut quote) = (Vec::new(), String::new(), None);
    for letter in text.chars() {
        match (letter, quote) {
            (',', None) => all.push(std::mem::take(&mut entry)),
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            (letter, _) => entry.push(letter),
        }
    }
    if quote.is_some() {
        return Err(ParseCarrierError::Quote);
    }
    all.push(entry);
    Ok(all.iter().map(|entry| entry.trim().to_owned()).collect())
}

fn count(number: &str) -> Result<usize, ParseCarrierError> {
    match number.parse() {
        Ok(count) if (1..=Carrier::MOST).contains(&count) => Ok(count),
        _ => Err(ParseCarrierError::Count(number.to_owned())),
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.pad("local"),
            Self::Kubernetes => f.pad("kubernetes"),
            Self::Ssh(destination) => f.pad(&format!("ssh:{destination}")),
            Self::Exec(command) => f.pad(&format!("exec:'{}'", command.join(" "))),
        }
    }
}

/// Why a list of generators cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseCarrierError {
    /// It is none of the four.
    #[error("has {0:?}, which is not local, ssh:DESTINATION, exec:COMMAND or kubernetes")]
    Kind(String),
    /// Not a number of generators.
    #[error("has {0:?}, which is not a number of generators from 1 to {most}", most = Carrier::MOST)]
    Count(String),
    /// Not a destination.
    #[error("has {0:?}, which is not a destination for ssh")]
    Destination(String),
    /// An empty command.
    #[error("has an exec: without a command")]
    Command,
    /// A quote that is not closed.
    #[error("has a quote that is not closed")]
    Quote,
    /// More than a load is shared among.
    #[error("has more than {most} generators", most = Carrier::MOST)]
    TooMany,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let ssh = |destination: &str| Carrier::Ssh(destination.to_owned());
        let exec = |command: &[&str]| Carrier::Exec(command.iter().map(|word| (*word).to_owned()).collect());
        for (text, expected) in [
            ("local", Ok(vec![Carrier::Local])),
            ("local:2, ssh:me@host", Ok(vec![Carrier::Local, Carrier::Local, ssh("me@host")])),
            ("local,kubernetes:2", Ok(vec![Carrier::Local, Carrier::Kubernetes, Carrier::Kubernetes])),
            ("kubernetes:none", Err(ParseCarrierError::Count("none".to_owned()))),
            ("ssh:host:2", Ok(vec![ssh("host"), ssh("host")])),
            ("ssh:ssh://host", Ok(vec![ssh("ssh://host")])),
            ("exec:ip netns exec a", Ok(vec![exec(&["ip", "netns", "exec", "a"])])),
            ("exec:'run --with a,b':2", Ok(vec![exec(&["run", "--with", "a,b"]); 2])),
            ("", Err(ParseCarrierError::Kind(String::new()))),
            ("remote", Err(ParseCarrierError::Kind("remote".to_owned()))),
            ("local:0", Err(ParseCarrierError::Count("0".to_owned()))),
            ("local:x", Err(ParseCarrierError::Count("x".to_owned()))),
            ("ssh:", Err(ParseCarrierError::Destination(String::new()))),
            ("ssh:-oProxyCommand=x", Err(ParseCarrierError::Destination("-oProxyCommand=x".to_owned()))),
            ("exec: ", Err(ParseCarrierError::Command)),
            ("exec:'a", Err(ParseCarrierError::Quote)),
            ("local:40,local:40", Err(ParseCarrierError::TooMany)),
        ] {
            assert_eq!(Carrier::read_all(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_shown_is_read_again() {
        for text in ["local", "kubernetes", "ssh:me@host", "exec:'ip netns exec a'"] {
            let all = Carrier::read_all(text).unwrap();
            assert_eq!(all.first().unwrap().to_string(), text);
        }
    }
}
