//! The unprivileged user that units run as when Stampede is root.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// A user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// The user that units run as: none when Stampede is unprivileged itself, otherwise Debian's user for web servers or the
/// one that every system has.
pub(crate) fn for_units() -> io::Result<Option<User>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    ["www-data", "nobody"]
        .iter()
        .find_map(|name| find(&users, name))
        .map(Some)
        .ok_or_else(|| io::Error::other("/etc/passwd has neither the user www-data nor nobody"))
}

/// Looks a user up in a [passwd](https://man7.org/linux/man-pages/man5/passwd.5.html) file.
fn find(users: &str, name: &str) -> Option<User> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(User { uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\nwww-data2:x:1:1::/:/bin/sh\nbad\n\
            www-data:x:33:34:www-data:/var/www:/usr/sbin/nologin\n";
        assert_eq!(find(users, "www-data"), Some(User { uid: 33, gid: 34 }));
        assert_eq!(find(users, "bad"), None);
        assert_eq!(find(users, "nobody"), None);
    }
}
