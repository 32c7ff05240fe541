// Shows where Waybill's time goes under load: one CPU profile for each thread, reduced to self times by
// function and by origin. Reads profiles that V8 wrote; starts nothing.
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
    readonly children?: readonly number[]
  }[]
  readonly startTime: number
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Prints both tables for every thread. `from` and `to` bound the load on the monotonic clock, µs. */
export function printProfiles(directory: string, from: number, to: number): void {
  for (const name of globSync('*.cpuprofile', { cwd: directory }).sort()) {
    // CPU.<date>.<time>.<pid>.<thread>.<number>.cpuprofile
    const thread = basename(name).split('.')[4]
    const profile = JSON.parse(readFileSync(join(directory, name), 'utf8')) as Profile
    const { busy, idle, byFunction, byOrigin } = selfTimes(profile, from, to)
    if (busy + idle === 0) continue
    const share = (us: number) => `${((100 * us) / busy).toFixed(1).padStart(5)} %`
    const load = (100 * busy) / (busy + idle)
    console.log(
      `\n${thread === '0' ? 'Main thread' : `Writer thread (${thread})`}: busy ${load.toFixed(0)} %`,
    )
    console.log('  by origin, share of the busy time')
    for (const [origin, us] of descending(byOrigin)) console.log(`  ${share(us)}  ${origin}`)
    console.log('  by function, self time')
    for (const [where, us] of descending(byFunction).slice(0, 25)) console.log(`  ${share(us)}  ${where}`)
  }
}

function selfTimes({ nodes, startTime, samples, timeDeltas }: Profile, from: number, to: number) {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const byFunction = new Map<string, number>()
  const byOrigin = new Map<string, number>()
  let [busy, idle, at] = [0, 0, startTime]
  for (const [index, id] of samples.entries()) {
    const us = timeDeltas[index]!
    at += us
    if (at < from || at > to) continue
    const { functionName, url, lineNumber } = byId.get(id)!.callFrame
    if (functionName === '(idle)') {
      idle += us
      continue
    }
    busy += us
    // Native code has no file, so its caller is used.
    const caller = byId.get(callers.get(id) ?? -1)?.callFrame
    const name = functionName || '(anonymous)'
    const where = url
      ? `${name}  ${short(url)}:${lineNumber + 1}`
      : `${name}  native, from ${caller?.functionName}`
    add(byFunction, name.startsWith('(') && !url ? name : where, us)
    add(
      byOrigin,
      url ? originOf(url) : name.startsWith('(') ? name : `native, from ${originOf(caller?.url)}`,
      us,
    )
  }
  return { busy, idle, byFunction, byOrigin }
}

function originOf(url = ''): string {
  const packaged = /.*\/node_modules\/((@[^/]+\/)?[^/]+)/.exec(url)?.[1]
  if (packaged) return packaged
  if (/^node:(_http|internal\/http|http)/.test(url)) return 'node http'
  if (/^node:(net|internal\/(stream|net))|stream/.test(url)) return 'node net and streams'
  if (/timers/.test(url)) return 'node timers'
  if (url.startsWith('node:')) return 'node, other'
  return url ? short(url) : 'native'
}

/** Shortens a path to the part below the project's folder. */
const short = (url: string): string => url.replace(/^.*?\/(node_modules|src|dist)\//, '$1/')

const add = (map: Map<string, number>, key: string, us: number): void => {
  map.set(key, (map.get(key) ?? 0) + us)
}

const descending = (map: Map<string, number>): [string, number][] => [...map].sort((a, b) => b[1] - a[1])
