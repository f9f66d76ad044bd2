//! Bodies of which parts vary: what each part may be, and how that is written in a file.

/// A body in which parts vary: texts that must be there, and between them what may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked(Vec<Piece>);

/// A part of a masked body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Text(Vec<u8>),
    /// Something of this class.
    Varies(MaskClass),
}

/// What a part that varies must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MaskClass {
    /// Anything, nothing too.
    Anything,
    /// The version of the PHP that serves it.
    PhpVersion,
    /// The name of PHP's server interface.
    Sapi,
    /// The web server with its version, as `SERVER_SOFTWARE` has it.
    ServerSoftware,
    /// Host and port of the server that answers.
    Address,
    /// Its port alone, where a name says that it is one.
    Port,
    /// A folder of this run.
    Folder,
    /// A number with a unit of time.
    Duration,
    /// A number with a unit of memory.
    Memory,
    /// A date, a time of day, or both; seconds since 1970.
    Time,
    /// A token: CSRF fields, nonces, session ids.
    Token,
    /// The token of a debug toolbar.
    DebugToken,
    /// A UUID.
    Uuid,
    /// What an asset's address carries so that a new version is fetched.
    AssetHash,
    /// A folder of published assets whose name is a hash.
    AssetFolder,
    /// A bare number whose name says that it counts or measures.
    Counter,
}

/// Each class with its name in files and messages.
const NAMES: [(MaskClass, &str); 16] = [
    (MaskClass::Anything, ANYTHING),
    (MaskClass::PhpVersion, "PHP version"),
    (MaskClass::Sapi, "SAPI"),
    (MaskClass::ServerSoftware, "server software"),
    (MaskClass::Address, "host and port"),
    (MaskClass::Port, "port"),
    (MaskClass::Folder, "run folder"),
    (MaskClass::Duration, "duration"),
    (MaskClass::Memory, "memory"),
    (MaskClass::Time, "time"),
    (MaskClass::Token, "token"),
    (MaskClass::DebugToken, "debug token"),
    (MaskClass::Uuid, "UUID"),
    (MaskClass::AssetHash, "asset hash"),
    (MaskClass::AssetFolder, "asset folder"),
    (MaskClass::Counter, "counter"),
];

/// What stands in a mask where a class is named.
const ANYTHING: &str = "…";

/// The mask that is written where the body leaves it free.
const OPEN: &str = "⟨";
const CLOSE: char = '⟩';

impl MaskClass {
    /// Its name, as it stands in files and messages.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(class, _)| *class == self).map_or(ANYTHING, |(_, name)| name)
    }

    /// Whether it is a value that the bench knows of each runtime, and compares with what it knows.
    pub fn is_known(self) -> bool {
        match self {
            Self::PhpVersion | Self::Sapi | Self::ServerSoftware | Self::Address | Self::Port | Self::Folder => true,
            Self::Anything
            | Self::Duration
            | Self::Memory
            | Self::Time
            | Self::Token
            | Self::DebugToken
            | Self::Uuid
            | Self::AssetHash
            | Self::AssetFolder
            | Self::Counter => false,
        }
    }

    /// How it is written with this mask: `⟨duration⟩` with `⟨…⟩`. A mask without `…` between two texts has no way to name one.
    fn written(self, mask: &str) -> Option<String> {
        if self == Self::Anything {
            return Some(mask.to_owned());
        }
        let (before, after) = mask.split_once(ANYTHING)?;
        (!before.is_empty() && !after.is_empty()).then(|| format!("{before}{}{after}", self.name()))
    }
}

impl Masked {
    /// A body of these pieces. Texts that follow each other become one.
    pub fn new(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (_, Piece::Text(text)) if text.is_empty() => {}
                (Some(Piece::Text(before)), Piece::Text(text)) => before.extend(text),
                (_, piece) => joined.push(piece),
            }
        }
        Self(joined)
    }

    /// Its pieces in order. No text is empty, and no two of them follow each other.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The classes of its parts, in order.
    pub fn classes(&self) -> impl Iterator<Item = MaskClass> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Varies(class) => Some(*class),
        })
    }

    /// The texts that must be there, in order.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_slice()),
            Piece::Varies(_) => None,
        })
    }

    /// Reads a body in which a mask stands for a part that varies. The mask itself stands for anything; one with `…` between two
    /// texts also names classes in its place, `⟨duration⟩` with `⟨…⟩`. Nothing where no mask is in the body.
    pub fn read(body: &[u8], mask: &str) -> Option<Self> {
        let forms: Vec<_> =
            NAMES.iter().filter_map(|(class, _)| Some((*class, class.written(mask)?.into_bytes()))).collect();
        let first = *mask.as_bytes().first()?;
        let (mut pieces, mut text, mut at) = (Vec::new(), 0, 0);
        while let Some(next) = body[at..].iter().position(|byte| *byte == first) {
            at += next;
            // Where a form begins with another one, the longer one is meant.
            let form = forms.iter().filter(|(_, form)| body[at..].starts_with(form)).max_by_key(|(_, form)| form.len());
            let Some((class, form)) = form else {
                at += 1;
                continue;
            };
            pieces.extend([Piece::Text(body[text..at].to_vec()), Piece::Varies(*class)]);
            at += form.len();
            text = at;
        }
        if pieces.is_empty() {
            return None;
        }
        pieces.push(Piece::Text(body[text..].to_vec()));
        Some(Self::new(pieces))
    }

    /// The body with a mask in place of each part that varies, and the mask, so that it is [read](Self::read) as this again.
    pub fn written(&self) -> (Vec<u8>, String) {
        let mut mask = format!("{OPEN}{ANYTHING}{CLOSE}");
        loop {
            let body = self.rendered(&mask);
            // Only a body that holds such marks itself needs another one, which becomes longer than any mark in it.
            if Self::read(&body, &mask).as_ref() == Some(self) {
                return (body, mask);
            }
            mask.push(CLOSE);
        }
    }

    /// The body with this mask in place of each part that varies.
    pub fn rendered(&self, mask: &str) -> Vec<u8> {
        let mut body = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => body.extend_from_slice(text),
                Piece::Varies(class) => {
                    body.extend(class.written(mask).unwrap_or_else(|| mask.to_owned()).into_bytes());
                }
            }
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.as_bytes().to_vec())
    }

    #[test]
    fn a_mask_stands_for_anything_and_names_classes_in_place_of_its_dots() {
        let any = Piece::Varies(MaskClass::Anything);
        let duration = Piece::Varies(MaskClass::Duration);
        for (body, mask, read) in [
            ("a~b", "~", Some(vec![text("a"), any.clone(), text("b")])),
            ("~", "~", Some(vec![any.clone()])),
            ("a~~b~~c", "~~", Some(vec![text("a"), any.clone(), text("b"), any.clone(), text("c")])),
            ("ab", "~", None),
            ("ab", "", None),
            ("in ⟨duration⟩, ⟨…⟩", "⟨…⟩", Some(vec![text("in "), duration.clone(), text(", "), any.clone()])),
            ("in [[duration]]", "[[…]]", Some(vec![text("in "), duration.clone()])),
            ("⟨no such class⟩ ⟨…⟩", "⟨…⟩", Some(vec![text("⟨no such class⟩ "), any.clone()])),
            ("in ⟨duration⟩ ***", "***", Some(vec![text("in ⟨duration⟩ "), any])),
        ] {
            assert_eq!(Masked::read(body.as_bytes(), mask), read.map(Masked), "{body} {mask}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let varies = Piece::Varies;
        for (pieces, body, mask) in [
            (vec![text("<p>"), varies(MaskClass::Memory), text("</p>")], "<p>⟨memory⟩</p>", "⟨…⟩"),
            (vec![varies(MaskClass::Anything)], "⟨…⟩", "⟨…⟩"),
            (vec![text("a⟨…⟩"), varies(MaskClass::Anything), text("b")], "a⟨…⟩⟨…⟩⟩b", "⟨…⟩⟩"),
            (vec![text("a ⟨time⟩ "), varies(MaskClass::Time)], "a ⟨time⟩ ⟨time⟩⟩", "⟨…⟩⟩"),
            (vec![varies(MaskClass::Time), text("⟩")], "⟨time⟩⟩", "⟨…⟩"),
        ] {
            let masked = Masked::new(pieces);
            let (written, used) = masked.written();
            assert_eq!((String::from_utf8_lossy(&written).as_ref(), used.as_str()), (body, mask));
            assert_eq!(Masked::read(&written, &used), Some(masked));
        }
    }

    #[test]
    fn each_class_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = NAMES.iter().map(|(_, name)| name).collect();
        let classes: std::collections::BTreeSet<_> = NAMES.iter().map(|(class, _)| class).collect();
        assert_eq!((names.len(), classes.len()), (NAMES.len(), NAMES.len()));
        assert_eq!(MaskClass::Address.name(), "host and port");
    }
}
