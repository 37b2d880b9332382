//! Being written.

/// Being written.
pub trait Real {}
impl Real for f32 {}
impl Real for f64 {}
