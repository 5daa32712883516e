//! Which changes of the cluster's settings are understood: the one rule of all that take such changes, and of the master.
//!
//! What two settings may not be together is told by `together`. Mirrors `AbstractScopedSettings.updateSettings` (6.8), its
//! messages included.

use super::dynamic::form;
use super::figure::size_warnings;
use super::form::Form;
use super::known::{is_of_family, is_of_plugin};
use super::nearest::nearest;
use super::objection::Objection;
use super::{REGISTRY, Setting, Value, known};
use crate::service::{ARCHIVED, Update};

/// Says why a setting of the cluster cannot be changed so, if it cannot.
pub fn rule(update: Update<'_>) -> Result<(), String> {
    let Update { persistent, key, value } = update;
    objection(persistent, key, value.map(Value::of_stored).as_ref()).map_err(|objection| objection.reason)
}

/// The same with all that Elasticsearch tells of it; a list may be given where one is wanted.
pub fn objection(persistent: bool, key: &str, value: Option<&Value>) -> Result<(), Objection> {
    let scope = if persistent { "persistent" } else { "transient" };
    if value.is_none() && (key.ends_with('*') || key.starts_with(ARCHIVED)) {
        return Ok(());
    }
    let own = own(key);
    let is_known = own.is_some() || known(key).is_some() && !is_of_plugin(key);
    if !is_known || key.contains('*') {
        return Err(Objection::illegal(format!("{scope} setting [{key}], not recognized")));
    }
    let form = form(key);
    if !own.map_or(form.is_some(), Setting::is_dynamic) {
        return Err(Objection::illegal(format!("{scope} setting [{key}], not dynamically updateable")));
    }
    let Some(value) = value else {
        return Ok(());
    };
    form.map_or(Ok(()), |form| form.check(key, value))?;
    // What Elasticsearch takes must still be within the bounds that hold here.
    let checked = own.map_or(Ok(()), |setting| setting.kind.check(key, value));
    checked.map_err(|error| Objection::illegal(error.to_string()))
}

/// What Elasticsearch warns of when a setting has this value, which it takes.
pub fn warnings(key: &str, value: &Value) -> Vec<String> {
    let is_size = matches!(form(key), Some(Form::Bytes | Form::Memory | Form::Watermark));
    value.text().filter(|_| is_size).map(|text| size_warnings(key, text)).unwrap_or_default()
}

/// The setting that may have been meant, where one is not recognized.
pub fn hint(key: &str) -> Option<String> {
    let is_known = own(key).is_some() || known(key).is_some();
    nearest(key).filter(|_| !is_known)
}

fn own(key: &str) -> Option<&'static Setting> {
    let exact = REGISTRY.iter().find(|setting| setting.key == key);
    exact.or_else(|| REGISTRY.iter().find(|setting| setting.is_family() && is_of_family(setting.key, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(key: &str, value: Option<&str>) -> Result<(), String> {
        rule(Update { persistent: false, key, value })
    }

    #[test]
    fn only_what_changes_at_run_time_and_fits_is_taken() {
        let fine = [
            ("discovery.zen.commit_timeout", Some("5s")),
            ("discovery.zen.commit_timeout", None),
            ("discovery.zen.no_master_block", Some("all")),
            ("cluster.metadata.owner", Some("anybody")),
            ("cluster.routing.allocation.enable", Some("none")),
            ("logger.org.elasticsearch.discovery", Some("DEBUG")),
            ("discovery.*", None),
            ("archived.some.thing", None),
        ];
        for (key, value) in fine {
            assert_eq!(judge(key, value), Ok(()), "{key}: {value:?}");
        }
        let refused = [
            ("foo.bar", Some("1"), "transient setting [foo.bar], not recognized"),
            ("foo.bar", None, "transient setting [foo.bar], not recognized"),
            ("cluster.name", Some("x"), "transient setting [cluster.name], not dynamically updateable"),
            ("gateway.expected_nodes", None, "transient setting [gateway.expected_nodes], not dynamically updateable"),
            ("path.repo", Some("x"), "transient setting [path.repo], not dynamically updateable"),
            ("logger.level", Some("debug"), "transient setting [logger.level], not dynamically updateable"),
            (
                "discovery.zen.minimum_master_node",
                Some("2"),
                "transient setting [discovery.zen.minimum_master_node], not recognized",
            ),
            ("xpack.security.enabled", Some("true"), "transient setting [xpack.security.enabled], not recognized"),
            ("archived.some.thing", Some("1"), "transient setting [archived.some.thing], not recognized"),
            (
                "discovery.zen.minimum_master_nodes",
                Some("abc"),
                "Failed to parse value [abc] for setting [discovery.zen.minimum_master_nodes]",
            ),
            (
                "discovery.zen.minimum_master_nodes",
                Some("0"),
                "Failed to parse value [0] for setting [discovery.zen.minimum_master_nodes] must be >= 1, or -1 for none",
            ),
        ];
        for (key, value, why) in refused {
            assert_eq!(judge(key, value), Err(why.into()), "{key}: {value:?}");
        }
        assert!(judge("logger.*", Some("debug")).is_err_and(|why| why.contains("not recognized")));
    }

    #[test]
    fn a_list_is_judged_as_one_where_it_is_stored_as_a_text() {
        let list =
            |elements: &[&str]| Value::List(elements.iter().map(|&element| element.to_owned()).collect()).stored();
        assert_eq!(judge("cluster.metadata.l", Some(&list(&["a", "b,c"]))), Ok(()));
        assert_eq!(judge("transport.tracer.include", Some(&list(&[]))), Ok(()));
        assert_eq!(judge("cluster.remote.r.seeds", Some(&list(&["a:1", "b:2"]))), Ok(()));
        assert_eq!(judge("cluster.remote.r.seeds", Some("a:1,b:2")), Ok(()), "as older releases stored it");
        let told = judge("cluster.routing.allocation.enable", Some(&list(&["all"])));
        assert_eq!(told, Err("Illegal allocation.enable value [[ALL]]".into()));
    }

    #[test]
    fn what_may_have_been_meant_is_told_apart_from_the_refusal() {
        assert_eq!(hint("discovery.zen.minimum_master_node").as_deref(), Some("discovery.zen.minimum_master_nodes"));
        assert_eq!(hint("cluster.name"), None);
        assert_eq!(hint("qqqqqqqqqqqqqqqqqqqq"), None);
    }
}
