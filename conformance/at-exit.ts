// Ends what the suite started when this process ends in the middle of a run. One listener serves all instances, because a
// run has more of them than Node's limit for listeners.
const works = new Set<() => void>()

/** `work` is done when this process ends, and must not wait for anything. Returns what takes it back. */
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
