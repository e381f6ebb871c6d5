//! Template variables that the server sets if a request does not.

use inferno_chat::ChatTemplate;
use jiff::Zoned;
use serde_json::{Map, Value, json};

/// The template variable that switches reasoning on or off.
pub(crate) const ENABLE_THINKING: &str = "enable_thinking";
/// Variables that hold the current date in some templates, with the formats in which llama-server sets them. Other templates
/// call `strftime_now`.
const DATES: [(&str, &str); 2] = [("date_string", "%d %b %Y"), ("datetime", "%b %d %Y")];

/// Sets the variables that the template reads: the date, and whether to reason if `reasoning` decides it.
pub(super) fn set_defaults(
    variables: &mut Map<String, Value>,
    template: &ChatTemplate,
    reasoning: Option<bool>,
) {
    if let Some(thinks) = reasoning.filter(|_| template.switches_thinking()) {
        variables.entry(ENABLE_THINKING).or_insert(json!(thinks));
    }
    for (name, format) in DATES {
        if template.mentions(name) && !variables.contains_key(name) {
            let date = Zoned::now().strftime(format).to_string();
            variables.insert(name.to_owned(), json!(date));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(source: &str, given: Value, reasoning: Option<bool>) -> Value {
        let template = ChatTemplate::new(source).unwrap();
        let Value::Object(mut variables) = given else {
            panic!("{given}");
        };
        set_defaults(&mut variables, &template, reasoning);
        json!(variables)
    }

    #[test]
    fn only_variables_that_the_template_reads_are_set() {
        assert_eq!(variables("{{ messages }}", json!({}), Some(true)), json!({}));
        let switch = "{% if enable_thinking %}a{% endif %}";
        assert_eq!(variables(switch, json!({}), None), json!({}));
        assert_eq!(variables(switch, json!({}), Some(false)), json!({ENABLE_THINKING: false}));
        let date = variables("{{ date_string }}", json!({}), None);
        let date = date["date_string"].as_str().unwrap();
        let [day, month, year] = date.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((day.len(), month.len(), year.len()), (2, 3, 4), "{date}");
    }

    #[test]
    fn variables_of_requests_have_precedence() {
        let given = json!({ENABLE_THINKING: true, "datetime": "today"});
        let source = "{{ enable_thinking }}{{ datetime }}";
        assert_eq!(variables(source, given.clone(), Some(false)), given);
    }
}
