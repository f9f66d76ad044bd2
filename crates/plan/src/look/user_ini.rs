//! Settings of PHP that lie beside an application's scripts: `.user.ini`, which PHP-FPM and CGI read and other servers do not.
//! <https://www.php.net/manual/en/configuration.file.per-user.php>

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const NAME: &str = ".user.ini";

/// What PHP ignores in such a file (`INI_SYSTEM`).
/// <https://www.php.net/manual/en/ini.list.php>
const OF_THE_SYSTEM: [&str; 14] = [
    "allow_url_",
    "cgi.",
    "disable_",
    "enable_dl",
    "expose_php",
    "extension",
    "file_uploads",
    "max_file_uploads",
    "opcache.",
    "pcre.jit",
    "realpath_cache_",
    "sendmail_path",
    "zend_extension",
    "user_ini.",
];

/// What names places of the owner's own machine, or decides where errors go.
const OF_THE_PLACE: [&str; 9] = [
    "display_errors",
    "display_startup_errors",
    "error_log",
    "html_errors",
    "log_errors",
    "open_basedir",
    "session.save_path",
    "sys_temp_dir",
    "upload_tmp_dir",
];

/// What such a file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UserIni {
    /// Settings for all runtimes.
    pub(super) settings: BTreeMap<String, String>,
    /// What there is to say of them.
    pub(super) remark: Option<String>,
}

/// Reads that of an application's public folder, which is in force for every script in it.
pub(super) fn read(folder: &Path, root: &Path) -> UserIni {
    let Ok(text) = fs::read_to_string(folder.join(root).join(NAME)) else { return UserIni::default() };
    let own = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let (mut settings, mut passed_over) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        let line = line.split(';').next().unwrap_or_default().trim();
        let Some((name, value)) = line.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
            continue;
        };
        let is_among = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
        match taken(value.trim_matches(['"', '\'']), &own) {
            Some(value) if !is_among(&OF_THE_SYSTEM) && !is_among(&OF_THE_PLACE) => {
                settings.insert(name.to_owned(), value);
            }
            _ => passed_over.push(name.to_owned()),
        }
    }
    let place = root.join(NAME);
    let place = place.strip_prefix(".").unwrap_or(&place).display().to_string();
    let names = settings.keys().cloned().collect::<Vec<_>>().join(", ");
    let taken =
        (!settings.is_empty()).then(|| format!("{place}, which PHP-FPM alone reads, is for every runtime: {names}"));
    let left = (!passed_over.is_empty()).then(|| format!("not taken of {place}: {}", passed_over.join(", ")));
    let remark = [taken, left].into_iter().flatten().collect::<Vec<_>>().join("; ");
    UserIni { settings, remark: Some(remark).filter(|remark| !remark.is_empty()) }
}

/// A value as a plan has it: a file of the application is one of its copy, and there are no other files.
fn taken(value: &str, own: &Path) -> Option<String> {
    let is_plain =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-/".contains(c));
    match Path::new(value).strip_prefix(own) {
        Ok(inside) if value.starts_with('/') => {
            Some(format!("@{{app}}/{}", inside.display())).filter(|_| is_plain(value))
        }
        _ if value.starts_with('/') => None,
        _ => Some(value.to_owned()).filter(|value| is_plain(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_beside_scripts_are_for_every_runtime_and_others_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let own = fs::canonicalize(folder.path()).unwrap();
        let text = format!(
            "; of the shop\n[PHP]\nmemory_limit = 256M\nupload_max_filesize=\"64M\" ; uploads\nauto_prepend_file = '{}/waf.php'\n\
             opcache.memory_consumption = 64\nerror_log = /var/log/shop.log\nsession.cookie_httponly = On\n\
             error_reporting = E_ALL & ~E_NOTICE\ninclude_path = /srv/lib\nnonsense\n",
            own.display()
        );
        assert_eq!(read(folder.path(), Path::new(".")), UserIni::default());
        fs::write(folder.path().join(NAME), text).unwrap();
        let UserIni { settings, remark } = read(folder.path(), Path::new("."));
        let told: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            told,
            [
                "auto_prepend_file=@{app}/waf.php",
                "memory_limit=256M",
                "session.cookie_httponly=On",
                "upload_max_filesize=64M"
            ]
        );
        assert_eq!(
            remark.unwrap(),
            ".user.ini, which PHP-FPM alone reads, is for every runtime: auto_prepend_file, memory_limit, \
             session.cookie_httponly, upload_max_filesize; not taken of .user.ini: opcache.memory_consumption, error_log, \
             error_reporting, include_path"
        );
        fs::create_dir(folder.path().join("public")).unwrap();
        fs::write(folder.path().join("public/.user.ini"), "open_basedir=/srv\n").unwrap();
        let of_public = read(folder.path(), Path::new("public"));
        assert_eq!(of_public.remark.as_deref(), Some("not taken of public/.user.ini: open_basedir"));
    }
}
