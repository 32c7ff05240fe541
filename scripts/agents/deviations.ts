// `npm run agents -- deviations`: each agent reads a file, writes one, and ends, at a provider that writes its answers in
// the usual way, and at three that deviate (seeds.yaml). Each run is made with a provider of the agent's own dialect, where
// the gateway passes the bytes on, and with one of another dialect. An agent that does not end as at the usual provider of
// its own dialect is also tried at the provider directly. Prints a table.
//   npm run agents -- deviations [--agent NAME]… [--scratch DIR] [--details FILE] [--from FILE]… [--write]
// --details stores everything seen; --from reads such files instead of running anything; --write puts the table into docs/agents.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { formatTable, writeTable } from './report.ts'
import { type Result, tryAgent } from './run.ts'
import { type Installed, installedAgents, SCRATCH, UPSTREAMS } from './stage.ts'
import type { TestedAgent } from './table.ts'

const { values } = parseArgs({
  options: {
    agent: { type: 'string', multiple: true },
    scratch: { type: 'string', default: SCRATCH },
    details: { type: 'string' },
    from: { type: 'string', multiple: true },
    write: { type: 'boolean', default: false },
  },
})
const SEEDS: Readonly<Record<string, readonly number[]>> = parse(
  readFileSync(new URL('seeds.yaml', import.meta.url), 'utf8'),
)
const results = values.from
  ? values.from.flatMap((file): Result[] => JSON.parse(readFileSync(file, 'utf8')))
  : await runAll()
const table = formatTable(
  'agent|speaks|seed|natively|from|translated',
  [...Map.groupBy(results, ({ agent }) => agent).values()].flatMap(rowsOf),
)
console.log(`\n${table}`)
if (values.write) writeTable('agents-deviations', table)

async function runAll(): Promise<Result[]> {
  const done: Result[] = []
  for (const { agent, installed } of installedAgents(values.agent, values.scratch)) {
    await tryDeviations(agent, installed, (result) => {
      done.push(result)
      const { client, upstream, seed, isDirect, seconds } = result
      const where = `${client} → ${upstream}${isDirect ? ' directly' : ''}, seed ${seed}`
      console.log(`${agent.title} ${installed.version}, ${where}: ${ended(result)} (${seconds} s)`)
      if (values.details) writeFileSync(values.details, JSON.stringify(done, null, 1))
    })
  }
  return done
}

async function tryDeviations(
  agent: TestedAgent,
  installed: Installed,
  add: (result: Result) => void,
): Promise<void> {
  const [client] = Object.keys(agent.ways) as [string]
  const others = Object.keys(UPSTREAMS).filter((name) => name !== client)
  const made = async (upstream: string, seed: number, isDirect = false): Promise<string> => {
    const result = await tryAgent(agent, installed, { client, upstream, trouble: 'task', seed, isDirect })
    add(result)
    return ended(result)
  }
  const usual = await made(client, 0)
  for (const [at, seed] of SEEDS[agent.name]!.entries()) {
    const upstream = others[at % others.length]!
    await made(upstream, 0)
    await made(upstream, seed)
    if ((await made(client, seed)) !== usual) await made(client, seed, true)
  }
}

/** Returns the rows of one agent. */
function rowsOf(runs: readonly Result[]): string[][] {
  const { agent, version, client } = runs[0]!
  const at = (upstream: string, seed: number, isDirect = false) => {
    const run = runs.find(
      (each) => each.upstream === upstream && each.seed === seed && each.isDirect === isDirect,
    )
    return run && ended(run)
  }
  const translated = runs.filter(({ upstream, seed }) => upstream !== client && seed !== 0)
  return translated.map(({ upstream, seed = 0 }) => {
    const [usual, native, direct] = [at(client, 0), at(client, seed), at(client, seed, true)]
    const [there, then] = [at(upstream, 0), at(upstream, seed)]
    return [
      ...[`${agent} ${version}`, client, String(seed)],
      native === usual
        ? 'as usual'
        : `${native} instead of ${usual}; directly ${direct === native ? 'the same' : (direct ?? 'not tried')}`,
      upstream,
      then === there ? 'as usual' : `${then} instead of ${there}`,
    ]
  })
}

/** Returns how a session ended: with the file written or not, the exit code, and the number of inferences. */
function ended({ outcome, inferences }: Result): string {
  return `${outcome}, ${inferences} inferences`
}
