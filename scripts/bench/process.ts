// Resources that a process has used so far, as the kernel reports them: processor time of its main thread and
// of all threads, and memory. Works on Linux only; on other systems, the tables leave out these figures.
import { readdirSync, readFileSync } from 'node:fs'

export interface Use {
  /** Processor time in ms since the process began. */
  readonly main: number
  readonly all: number
  /** Resident memory, MiB. */
  readonly resident: number
}

/** Returns the resources; null if the system does not report them. */
export function useOf(pid: number): Use | null {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const times = threads.map((thread) => timeOf(pid, thread))
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return {
      main: timeOf(pid, String(pid)),
      all: times.reduce((sum, each) => sum + each, 0),
      resident: Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) / 1024,
    }
  } catch {
    return null
  }
}

/** Returns the time on a processor, the first number of `schedstat`, ns. */
const timeOf = (pid: number, thread: string): number =>
  Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6
