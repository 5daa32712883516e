//! What the world promises, shown with a participant that echoes.

mod echo;
mod gate;
mod life;
mod links;
mod network;
mod replay;
