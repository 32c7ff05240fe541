// What is done when this process ends in the middle of a run: what the suite started ends with it. One listener for all,
// because a run has more instances than Node thinks is healthy.
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
