// Ends the suite's processes if this process ends during a run. One listener serves all instances, because a
// run has more instances than Node allows listeners.
const works = new Set<() => void>()

/** Calls `work` when this process ends; `work` must be synchronous. Returns a function that cancels this. */
export function atExit(work: () => void): () => void {
  if (works.size === 0) process.once('exit', doAll)
  works.add(work)
  return () => {
    works.delete(work)
    if (works.size === 0) process.off('exit', doAll)
  }
}

function doAll(): void {
  for (const work of works) work()
}
