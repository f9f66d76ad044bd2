//! What exists: the runtimes of the `runtimes` crate, and the workloads that are built into the binary.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rust_embed::RustEmbed;
use stampede_core::Runtime;
use stampede_plan::{Catalogue, KnownPublication};

#[derive(RustEmbed)]
#[folder = "../../workloads/"]
struct Workloads;

#[derive(RustEmbed)]
#[folder = "../../studies/"]
struct Studies;

/// The published experiments that are built in.
pub fn publications() -> Vec<KnownPublication> {
    let known = |file: &str| {
        let name = file.strip_suffix(".yaml")?.to_owned();
        let text = String::from_utf8(Studies::get(file)?.data.into_owned()).ok()?;
        Some(KnownPublication { name, place: format!("studies/{file}"), text })
    };
    Studies::iter().filter_map(|file| known(&file)).collect()
}

/// What is known of experiments, and the name of the one that is asked for: what ends in .yaml is the file of one of one's own.
///
/// # Errors
///
/// When that file cannot be read.
pub fn experiments(asked: String) -> Result<(String, Vec<KnownPublication>), String> {
    if !asked.ends_with(".yaml") {
        return Ok((asked, publications()));
    }
    let text = fs::read_to_string(&asked)
        .map_err(|error| format!("{asked} cannot be read: {error}; name an experiment, or its file"))?;
    let name = Path::new(&asked).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name.clone(), vec![KnownPublication { name, place: asked, text }]))
}

/// Where unpacked workloads and kept builds are, which can be removed at any time.
///
/// # Errors
///
/// When neither the user's cache nor home is known.
pub fn cache_folder() -> Result<PathBuf, String> {
    own_folder("XDG_CACHE_HOME", ".cache")
}

/// The program's own folder below the one that a variable names (XDG Base Directory Specification), or below that of the user's home.
/// There is no fallback to a folder that other users could have made before us.
///
/// # Errors
///
/// When neither is set.
pub fn own_folder(variable: &str, below_home: &str) -> Result<PathBuf, String> {
    let from = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    from(variable)
        .or_else(|| Some(from("HOME")?.join(below_home)))
        .map(|folder| folder.join("stampede"))
        .ok_or_else(|| format!("neither HOME nor {variable} is set; set one of them"))
}

/// What is built into this binary.
pub struct BuiltIn;

impl Catalogue for BuiltIn {
    fn runtimes(&self) -> &[&'static dyn Runtime] {
        stampede_runtimes::all()
    }

    fn workloads(&self) -> Vec<String> {
        let names: BTreeSet<String> =
            Workloads::iter().filter_map(|file| file.strip_suffix("/workload.yaml").map(str::to_owned)).collect();
        names.into_iter().collect()
    }

    fn workload_folder(&self, name: &str) -> Result<PathBuf, String> {
        let cache = cache_folder()?;
        let folder = cache.join("workloads").join(fingerprint(name)).join(name);
        unpack(name, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }

    fn generated(&self, workload: &Path, command: &[String]) -> Result<PathBuf, String> {
        let cache = cache_folder()?;
        let name = generator(workload, command).map_err(|error| format!("{}: {error}", workload.display()))?;
        let folder = cache.join("feeders").join(name);
        if !folder.is_dir() {
            generate(workload, command, &folder)
                .map_err(|problem| format!("`{}` in {}: {problem}", command.join(" "), workload.display()))?;
        }
        Ok(folder)
    }
}

/// A name for a command and the files that it names.
fn generator(workload: &Path, command: &[String]) -> io::Result<String> {
    let mut bytes = command.join("\0").into_bytes();
    for file in command.iter().map(|word| workload.join(word)).filter(|path| path.is_file()) {
        bytes.extend(fs::read(file)?);
    }
    Ok(format!("{:016x}", fnv(&bytes)))
}

/// Runs a command beside the folder that it fills, which then takes its place.
fn generate(workload: &Path, command: &[String], folder: &Path) -> Result<(), String> {
    let [program, args @ ..] = command else { return Err("names no program".to_owned()) };
    let kept = folder.parent().unwrap_or(folder);
    // Of its own for each caller: several may want the same at the same time, also in one process.
    let beside = fs::create_dir_all(kept).and_then(|()| tempfile::tempdir_in(kept));
    let beside = beside.map_err(|error| format!("make a folder in {}: {error}", kept.display()))?;
    let said = Command::new(program).args(args).arg(beside.path()).current_dir(workload).stdin(Stdio::null()).output();
    match said {
        Ok(said) if said.status.success() => fs::rename(beside.path(), folder).or_else(|error| {
            // Another was faster; what it made is the same.
            if folder.is_dir() { Ok(()) } else { Err(error.to_string()) }
        }),
        Ok(said) => {
            let words = [said.stdout, said.stderr].concat();
            Err(format!("it ended with {}: {}", said.status, String::from_utf8_lossy(&words).trim_end()))
        }
        Err(error) => Err(format!("it cannot be run: {error}")),
    }
}

/// FNV-1a.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A name for the content of a workload, so that another version of Stampede unpacks beside this one.
fn fingerprint(name: &str) -> String {
    let mut hashes = 0u64;
    for file in files(name) {
        if let Some(embedded) = Workloads::get(&file) {
            for byte in embedded.metadata.sha256_hash() {
                // FNV-1a over the files' SHA-256 sums.
                hashes = (hashes ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    format!("{hashes:016x}")
}

fn files(name: &str) -> impl Iterator<Item = String> {
    let prefix = format!("{name}/");
    Workloads::iter().filter(move |file| file.starts_with(&prefix)).map(|file| file.into_owned())
}

/// Unpacks beside the folder and moves it into its place, so that nobody reads half of it.
fn unpack(name: &str, folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let beside = folder.with_extension(std::process::id().to_string());
    for file in files(name) {
        let path = beside.join(&file[name.len() + 1..]);
        let Some(embedded) = Workloads::get(&file) else { continue };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, &embedded.data)?;
    }
    match fs::rename(&beside, folder) {
        // Another Stampede was faster; the content is the same.
        Err(_) if folder.is_dir() => fs::remove_dir_all(&beside),
        moved => moved,
    }
}
