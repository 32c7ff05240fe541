/**
 * Processor time of this thread so far, ms. Unlike elapsed time, it excludes the time of other threads and programs.
 */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
