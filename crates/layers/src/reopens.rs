//! Streams that another part of the program opens again.

/// Marks a call whose stream is opened again when it breaks, as the layer `merge` does. A service that stands for several servers may end such
/// a stream when its server should not be used any more: the next one comes from another server.
#[derive(Clone, Copy, Debug)]
pub struct Reopens;
