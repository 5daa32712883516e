//! tmp
pub(super) fn install(s:&crate::settings::NodeSettings)->crate::runtime::log::Log{ crate::runtime::log::Log(s.node_name.as_deref().unwrap_or("-").to_string())}
