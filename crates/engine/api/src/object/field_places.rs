//! The places of fields in the manifest that an object was read from.

/// The places of those fields of an object that an error of a run can be about, `path:line:column`. None of an object
/// that was read from no manifest. Objects are the same wherever they are written.
#[derive(Clone, Debug, Default)]
pub struct FieldPlaces(Vec<(&'static str, Box<str>)>);

impl FieldPlaces {
    /// The places as `place` has them for JSON pointers.
    pub(crate) fn new(fields: &[&'static str], place: impl Fn(&str) -> String) -> Self {
        let fields = fields.iter();
        Self(fields.map(|field| (*field, place(field).into())).collect())
    }

    /// The place of a field by its JSON pointer; of the innermost one around it that exists, if the manifest
    /// does not have it.
    #[must_use]
    pub fn of(&self, pointer: &str) -> Option<&str> {
        let mut places = self.0.iter();
        places.find(|(field, _)| *field == pointer).map(|(_, place)| &**place)
    }

    /// Moves all fields to one place.
    pub(crate) fn move_to(&mut self, place: &str) {
        for (_, at) in &mut self.0 {
            *at = place.into();
        }
    }
}

impl PartialEq for FieldPlaces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for FieldPlaces {}
