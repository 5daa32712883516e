//! tmp
pub struct Log(pub String);
impl Log { pub fn note(&mut self,n:&crate::zen::Note){ use std::io::Write; let _=writeln!(std::io::stderr(),"[{:?}] [{}] {n}",std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap(),self.0);} }
