// `npm run agents -- steps`: keeps a session of 20 turns of Claude Code, Codex and opencode at a mock, with a sub-agent and
// a compaction, and replays it up to three steps: without --live, with it, and in another directory. Compares what
// the agent wrote, and counts the inferences at the mock.
//   npm run agents -- steps [--agent NAME]… [--scratch DIR] [--next DIR] [--write]
// --next names a scratch directory with other versions for one more replay; --write puts the table into docs/steps.md.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createMockProviders, writeNonce } from '../../mocks/library.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { CallRecord } from '../../src/core/record.ts'
import type { StepPart } from '../../src/core/steps.ts'
import { createGateway } from '../../src/gateway/create-gateway.ts'
import { formatTable, writeTable } from './report.ts'
import { type Installed, installAgent, installedAgents, SCRATCH, UPSTREAMS } from './stage.ts'
import type { TestedAgent } from './table.ts'
import { type Asides, expected, pagesIn, place, runTurns, script, writeConfig } from './turns.ts'

const { values } = parseArgs({
  options: {
    agent: { type: 'string', multiple: true, default: ['claude-code', 'codex', 'opencode'] },
    scratch: { type: 'string', default: SCRATCH },
    next: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
const TURNS = 20
const WINDOW = 100_000
/** The turn after which the agent must compact the conversation. */
const COMPACTS = { turn: 12, input: 98_000 }
const SUBAGENT_NONCE = 'a9e07ca5e5000003'
const SUBAGENT_PROMPT = `Say a word. ${writeNonce(SUBAGENT_NONCE)}`
/** Time that a sub-agent takes, in which Codex goes on. */
const SUBAGENT_MS = 1_000
/** Calls that start a sub-agent, by agent. */
const SUBAGENTS: Readonly<Record<string, Asides>> = {
  'claude-code': task('Task', 'general-purpose'),
  codex: {
    5: {
      name: 'collaboration.spawn_agent',
      arguments: { task_name: 'look', fork_turns: 'none', message: SUBAGENT_PROMPT },
    },
    7: { name: 'collaboration.wait_agent', arguments: { timeout_ms: 60_000 } },
  },
  opencode: task('task', 'general'),
}

type RecordedStep = Pick<CallRecord, 'id' | 'purpose' | 'agent_id'>

type List<Row> = { readonly data: readonly Row[] }

const rows: string[][] = []
for (const { agent, installed } of installedAgents(values.agent, values.scratch))
  rows.push(await tryAgent(agent, installed))
const table = formatTable(
  'agent|steps kept, of sub-agents, summaries|replayed whole|up to three steps without --live|from three steps with --live|in another directory|by another version',
  rows,
)
console.log(`\n${table}`)
if (values.write) writeTable('agents-steps', table, 'steps.md')

async function tryAgent(agent: TestedAgent, { program, version }: Installed): Promise<string[]> {
  const next = values.next ? installAgent(agent, values.next) : null
  const [client] = Object.keys(agent.ways) as [string]
  const upstream = UPSTREAMS[client]!
  const mock = await createMockProviders()
  const top = mkdtempSync(join(tmpdir(), 'waybill-steps-'))
  const key = mock.key(upstream.provider)
  const config = writeConfig(top, client, mock.baseUrl(upstream.provider), WINDOW)
  const env = { MOCK_KEY: key, WAYBILL_RESPONSES_KEY: randomBytes(32).toString('base64'), WAYBILL_PORT: '0' }
  const gateway = await createGateway(loadConfig(config, { env }))
  const read = async <Answer>(path: string) => (await fetch(gateway.url + path)).json() as Promise<Answer>
  const inferences = () => mock.entries().filter(({ kind }) => kind === 'inference').length
  const at = place(top, 'first')
  script(mock, agent, at.work, upstream, TURNS, SUBAGENTS[agent.name], COMPACTS)
  mock.script(SUBAGENT_NONCE, [{ say: { text: 'A word.' }, wait: SUBAGENT_MS, times: 1_000 }])
  const more = { WAYBILL_URL: gateway.url }
  const run = async (how: readonly string[], where = at, started = program) => {
    const before = inferences()
    const place = { place: where, config, key, more }
    const { output, code } = await runTurns(how, { agent: withSubagents(agent), program: started, ...place })
    const [spent, wrote] = [inferences() - before, pagesIn(where.work)]
    console.log(`${agent.name}: ${how.join(' ')}: exit ${code}, ${spent} spent`)
    return { code, output: output.replaceAll(/\s+/g, ' '), spent, wrote }
  }
  const first = await run(['run', '--keep'])
  const { data: sessions } = await read<List<{ session_id: string; calls: number }>>('/api/sessions')
  const session = sessions.find(({ calls }) => calls >= TURNS)!.session_id
  const query = new URLSearchParams({ limit: '200', session_id: session })
  const { data: steps } = await read<List<RecordedStep>>(`/api/usage/request-logs?${query}`)
  const readKept = async () => {
    const all = steps.map(({ id }) => read<{ output?: StepPart[] }>(`/api/usage/request-logs/${id}/kept`))
    return (await Promise.all(all)).flatMap(({ output }) => (output ? [output] : []))
  }
  let kept = await readKept()
  for (let n = 0; n < 50 && kept.length < steps.length; n++) kept = await sleep(100).then(readKept)
  const summaries = kept.filter((output) => output.some(({ text }) => text.startsWith('<summary>'))).length
  const subagents = steps.filter(({ purpose, agent_id }) => purpose === 'subagent' || agent_id).length
  const replay = async (until: number, how: readonly string[] = [], name = 'first') =>
    run(['replay', session, '--until', String(until), ...how], place(top, name))
  const whole = await replay(steps.length)
  const [stops, branches]: [string[], string[]] = [[], []]
  for (const until of [5, 10, 15]) {
    const stopped = await replay(until)
    const reached = /\d+ of \d+ steps/.exec(stopped.output)?.[0] ?? stopped.output.slice(-300)
    stops.push(`${until}: ${reached}, ${stopped.spent} spent`)
    const branch = await replay(until, ['--live'])
    const id = steps[steps.length - until]!.id
    const children = (await read<List<RecordedStep>>(`/api/usage/request-logs?limit=200&parent_id=${id}`))
      .data.length
    const same = branch.wrote === expected(TURNS) ? 'same files' : `other: ${branch.output.slice(-300)}`
    branches.push(`${until}: ${branch.spent} spent, ${children} on record with their parent, ${same}`)
  }
  const elsewhere = await replay(steps.length, [], 'elsewhere')
  const other = next && (await run(['replay', session, '--until', '20'], place(top, 'first'), next.program))
  await gateway.close()
  await mock.close()
  rmSync(top, { recursive: true, force: true, maxRetries: 5 })
  return [
    `${agent.title} ${version}`,
    `${kept.length} of ${steps.length}, ${subagents}, ${summaries}${first.code === 0 ? '' : ` (exit ${first.code}: ${first.output.slice(-300)})`}`,
    `${whole.spent} spent, ${whole.wrote === first.wrote && first.wrote === expected(TURNS) ? 'same files' : `other files: ${whole.output.slice(-400)}`}`,
    stops.join('; '),
    branches.join('; '),
    `${toldBy(elsewhere)}, ${elsewhere.spent} spent, ${elsewhere.wrote === first.wrote ? 'same files' : 'other files'}`,
    other ? `${next.version}: ${toldBy(other)}, ${other.spent} spent` : 'not tried',
  ]
}

/** Returns the call of a tool that starts a sub-agent of this type. */
function task(name: string, subagent_type: string): Asides {
  return { 5: { name, arguments: { description: 'Look', prompt: SUBAGENT_PROMPT, subagent_type } } }
}

/** Returns an agent that offers its model the tools that start sub-agents and wait for them. Codex needs a setting. */
function withSubagents(agent: TestedAgent): TestedAgent {
  const way = agent.ways.responses
  if (agent.name !== 'codex' || !way) return agent
  const args: typeof way.args = (given) => ['-c', 'features.multi_agent_v2=true', ...way.args(given)]
  return { ...agent, ways: { responses: { ...way, args } } }
}

/** Returns the words in which a replay sums itself up. */
function toldBy({ output }: { readonly output: string }): string {
  const words = /\d+ of \d+ steps.*/
    .exec(output)?.[0]
    .trim()
    .replace(/ in \/\S+$/, '')
  return words?.slice(0, 240).replaceAll('|', '/') ?? output.slice(-300)
}
