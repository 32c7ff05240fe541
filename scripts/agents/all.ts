// `npm run agents`: installs common coding agents, runs each unmodified and headless through a Waybill
// gateway with the mock as its provider, and prints the results. Apart from the installation, nothing leaves
// this machine.
//   npm run agents -- [--crossed] [--agent NAME]… [--dialect NAME]… [--upstream NAME]… [--trouble NAME]…
//                     [--scratch DIR] [--details FILE] [--from FILE]… [--write]
// The provider uses the agent's own dialect; with --crossed, any other that the gateway translates to.
// --details stores everything seen; --from reads such files instead of running anything; --write puts the
// table into docs/agents.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { DIALECT_NAMES } from '../../src/config/schema.ts'
import { crossedTable, ownTable, writeTable } from './report.ts'
import { type AgentTask, type Result, TROUBLES, tryAgent } from './run.ts'
import { installedAgents, SCRATCH, UPSTREAMS } from './stage.ts'

const { values } = parseArgs({
  options: {
    crossed: { type: 'boolean', default: false },
    agent: { type: 'string', multiple: true },
    dialect: { type: 'string', multiple: true },
    upstream: { type: 'string', multiple: true },
    trouble: { type: 'string', multiple: true },
    scratch: { type: 'string', default: SCRATCH },
    details: { type: 'string' },
    from: { type: 'string', multiple: true },
    write: { type: 'boolean', default: false },
  },
})
const isWanted = (list: readonly string[] | undefined, name: string): boolean => list?.includes(name) ?? true
const isSpoken = (dialect: string): boolean => (DIALECT_NAMES as readonly string[]).includes(dialect)

const results = values.from
  ? values.from.flatMap((file): Result[] => JSON.parse(readFileSync(file, 'utf8')))
  : await runAll()
const table = values.crossed ? crossedTable(results) : ownTable(results)
console.log(`\n${table}`)
if (values.write) writeTable(values.crossed ? 'agents-crossed' : 'agents', table)

async function runAll(): Promise<Result[]> {
  const done: Result[] = []
  for (const { agent, installed } of installedAgents(values.agent, values.scratch)) {
    for (const client of Object.keys(agent.ways).filter((name) => isWanted(values.dialect, name)))
      for (const upstream of upstreamsOf(client)) {
        if (!isSpoken(client) || !isSpoken(upstream)) continue
        for (const task of tasksOf(client, upstream)) {
          const result = await tryAgent(agent, installed, task)
          done.push(result)
          console.log(short(result))
          if (values.details) writeFileSync(values.details, JSON.stringify(done, null, 1))
          if (result.outcome === 'not translated') break
        }
      }
  }
  return done
}

function upstreamsOf(client: string): string[] {
  if (!values.crossed) return [client]
  return Object.keys(UPSTREAMS).filter((name) => name !== client && isWanted(values.upstream, name))
}

function tasksOf(client: string, upstream: string): AgentTask[] {
  const troubles = Object.keys(TROUBLES).filter((name) => isWanted(values.trouble, name))
  if (!values.crossed) return troubles.map((trouble) => ({ client, upstream, trouble }))
  return troubles.flatMap((trouble): AgentTask[] => {
    // Faults are tried only in the first of the other dialects, to limit the time.
    if (trouble !== 'task')
      return trouble === 'only 400' || upstream !== upstreamsOf(client)[0]
        ? []
        : [{ client, upstream, trouble }]
    const turn = { client, upstream, trouble, parallel: true } as const
    return [
      { ...turn, again: 'same' },
      { ...turn, again: 'other' },
    ]
  })
}

/** Returns the line that is printed after a run. */
function short(result: Result): string {
  const { agent, version, client, upstream, trouble, again, outcome, inferences, second, seconds } = result
  const between = client === upstream ? client : `${client} → ${upstream}`
  const next =
    again === undefined ? '' : `; at ${again === 'same' ? 'the same' : 'another family'}: ${second}`
  return `${agent} ${version}, ${between}, ${trouble}: ${outcome}, ${inferences} inferences${next} (${seconds} s)`
}
