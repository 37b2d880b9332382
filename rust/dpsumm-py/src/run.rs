//! One way into the core: detach from the interpreter, run in the package's own threads.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{CoreError, InvalidParameterError};

/// The package's threads. A forked child has none of its parent's, so the pool carries the process
/// that made it and a child makes its own.
struct Threads {
    wanted: usize,
    pool: Option<(u32, Arc<ThreadPool>)>,
}

static THREADS: Mutex<Threads> = Mutex::new(Threads { wanted: 0, pool: None });

/// More threads than any machine has use for, and few enough to start.
const MAX_THREADS: usize = 1024;

/// Set how many threads the kernels use; 0 means one for each core.
#[pyfunction]
pub fn set_threads(n_threads: usize) -> PyResult<()> {
    if n_threads > MAX_THREADS {
        let message = format!("n_threads must be at most {MAX_THREADS}, got {n_threads}");
        return Err(InvalidParameterError::new_err(message));
    }
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let old = threads.pool.take();
    threads.wanted = n_threads;
    forget_if_foreign(old);
    Ok(())
}

/// A pool inherited through a fork must not be dropped: that would wait for threads that do not exist.
fn forget_if_foreign(pool: Option<(u32, Arc<ThreadPool>)>) {
    if let Some((process, pool)) = pool
        && process != std::process::id()
    {
        std::mem::forget(pool);
    }
}

fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let here = std::process::id();
    if let Some((process, pool)) = &threads.pool
        && *process == here
    {
        return Ok(pool.clone());
    }
    let made = ThreadPoolBuilder::new()
        .num_threads(threads.wanted)
        .thread_name(|i| format!("dpsumm-{i}"))
        .build()
        .map_err(|error| InvalidParameterError::new_err(format!("n_threads: {error}")))?;
    let made = Arc::new(made);
    forget_if_foreign(threads.pool.replace((here, made.clone())));
    Ok(made)
}

/// Run `work` detached from the interpreter, in the package's threads.
pub fn detached<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<R, CoreError> + Send,
) -> PyResult<R> {
    let pool = pool()?;
    Ok(py.detach(|| pool.install(work))?)
}
