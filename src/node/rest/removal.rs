//! The warnings with which Elasticsearch 6.8 announces that types will go, and letters of dates change.
//!
//! Mirrors the deprecations of `RestGetIndicesAction`, `RestGetMappingAction` and their kin, and of `Joda` (6.8).

use super::date_math;
use super::parameters::Parameters;
use axum::http::Method;

/// The routes that warn, and what they call their requests.
const ROUTES: [(&str, &str); 4] = [
    ("get_indices_action", "get indices"),
    ("get_index_template_action", "get template"),
    ("get_mapping_action", "get mapping"),
    ("get_field_mapping_action", "get field mapping"),
];

/// All that a request is warned of.
pub(super) fn warnings(route: &str, method: &Method, parameters: &Parameters) -> Vec<String> {
    let names = ["index", "indices"].into_iter().filter_map(|name| parameters.list(name)).flatten();
    let mut warnings: Vec<String> = names.flat_map(date_math::warnings).collect();
    warnings.extend(warning(route, method, parameters));
    warnings.dedup();
    warnings
}

/// What a request is warned of: where it does not say whether it wants types.
fn warning(route: &str, method: &Method, parameters: &Parameters) -> Option<String> {
    let (name, what) = ROUTES.iter().find(|(name, _)| *name == route)?;
    let is_quiet = *name == "get_indices_action" && *method == Method::HEAD;
    if is_quiet || parameters.text("include_type_name").is_some() {
        return None;
    }
    Some(format!(
        "[types removal] The parameter include_type_name should be explicitly specified in {what} requests to prepare for \
         7.0. In 7.0 include_type_name will default to 'false', which means responses will omit the type name in mapping \
         definitions."
    ))
}
