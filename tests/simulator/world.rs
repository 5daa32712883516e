//! What the world promises, shown with a participant that echoes.

mod echo;
mod life;
mod links;
mod message_filter;
mod network;
mod replay;
