//! Values that a flag or the plan file gives, with the mistakes in them.

use crate::document::Text;
use crate::listed::Listed;
use crate::machine_size::MachineSize;
use crate::mistake::Gathered;
use crate::plan_file::{LoadEntry, PlanFile, PlanSections};
use crate::play::AskedLoad;
use crate::quantity::read_load;

/// Values by flag or, where no flag gives one, by the plan file.
pub(crate) struct Values<'a> {
    pub(crate) file: Option<&'a PlanFile>,
    pub(crate) mistakes: Gathered,
}

impl<'a> Values<'a> {
    /// Reads a value that has these names as a flag and in the file.
    pub(crate) fn of<T>(
        &mut self,
        [flag, key]: [&str; 2],
        typed: &Option<String>,
        section: impl FnOnce(&'a PlanSections) -> Option<&'a Text>,
        read: impl FnOnce(Option<&str>, &mut Gathered) -> T,
    ) -> T {
        let in_file = self.file.and_then(|file| Some((file, section(&file.sections)?)));
        match (typed, in_file) {
            (None, Some((file, Text(text)))) => {
                let mut found = Gathered::default();
                let value = read(Some(text), &mut found);
                self.mistakes.extend(found.retold(flag, key, &file.place(key).to_string()));
                value
            }
            (typed, _) => read(typed.as_deref(), &mut self.mistakes),
        }
    }

    /// What is named in a row by a flag or in the file; `None` where neither is.
    pub(crate) fn list(
        &mut self,
        flag: &str,
        key: &str,
        typed: &Option<String>,
        section: impl FnOnce(&'a PlanSections) -> Option<&'a Vec<Text>>,
    ) -> Option<Vec<Listed>> {
        if let Some(typed) = typed {
            return Some(Listed::typed(flag, typed));
        }
        let file = self.file?;
        let items = section(&file.sections)?;
        let place = file.place(key);
        if items.is_empty() {
            self.mistakes.add(&place, "names none", "name some, or leave it out");
        }
        let listed = |(index, Text(value)): (usize, &Text)| Listed {
            value: value.clone(),
            place: place.item(index).to_string(),
        };
        Some(items.iter().enumerate().map(listed).collect())
    }

    /// The load, which the file may give in keys.
    pub(crate) fn load(&mut self, typed: &Option<String>, machine: MachineSize) -> AskedLoad {
        let in_file = self.file.filter(|_| typed.is_none()).and_then(|file| Some((file, file.sections.load.as_ref()?)));
        let Some((file, load)) = in_file else {
            let load = read_load(typed.as_deref(), machine, &mut self.mistakes);
            return AskedLoad { load, place: typed.as_ref().map(|typed| format!("--load {typed}")), is_one: false };
        };
        let written = file.place("load");
        let place = Some(written.to_string());
        let short = match load {
            LoadEntry::Short(text) => Ok((text.clone(), written.to_string())),
            LoadEntry::Keys(keys) => keys.short().map(|text| {
                let told = format!("{written} {text}");
                (text, told)
            }),
        };
        match short {
            Ok((text, told)) => {
                let mut found = Gathered::default();
                let load = read_load(Some(&text), machine, &mut found);
                self.mistakes.extend(found.retold("--load", "load", &told));
                AskedLoad { load, place, is_one: false }
            }
            Err((key, problem, fix)) => {
                self.mistakes.add(written.key(key), problem, fix);
                AskedLoad { load: read_load(None, machine, &mut self.mistakes), place, is_one: false }
            }
        }
    }
}
