//! Tables of two owners who hold different columns of the same records: the product that counts
//! them in secret, and the model that is fitted to the noisy counts.

pub mod mixture;
pub mod pad;
pub mod ring;
pub mod softmax;
