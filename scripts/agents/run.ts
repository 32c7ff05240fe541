// One run of one agent: a task, the faults during the task, and the outcome.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ScriptedAnswer } from '../../mocks/library.ts'
import { disturbedStream } from '../../src/dialects/test-generator.ts'
import { seeded } from '../../src/shared/chance.ts'
import {
  type AgentStage,
  ALIAS,
  type Installed,
  MODEL,
  OTHER,
  openStage,
  type Ran,
  runBounded,
  type StageOptions,
  UPSTREAMS,
} from './stage.ts'
import type { AgentCall, RunParameters, TestedAgent } from './table.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const RUN_TIMEOUT_MS = 90_000

/** Files for the agent to read, and the thought and final words of the mock's model. */
const FILES = {
  'note.txt': 'The lamp is out.\nThe keeper sleeps at seven.',
  'log.txt': 'Fog since noon.\nThe bell was rung twice.',
}
const THOUGHT = 'A lamp that is out wants its keeper.'
const FOUND = 'The keeper has been woken.'
const AGAIN = 'Then the lamp is lit.'
/** File that the agent writes in a run of `npm run agents -- deviations`, and its text. */
const WRITTEN = { name: 'woken.txt', text: 'The keeper “Jørgen” 🔦 is awake.' }

/** Faults that precede the good answers. */
export const TROUBLES: Readonly<Record<string, readonly ScriptedAnswer[]>> = {
  task: [],
  'a 429': [{ status: 429, headers: { 'retry-after': '1' } }],
  'a 529': [{ status: 529 }],
  'a cut stream': [{ scenario: 'cut-after-4' }],
  'only 400': [{ status: 400, times: 1_000 }],
}

/** Subject of one run. */
export interface AgentTask {
  /** Dialects of the agent and of its provider. */
  readonly client: string
  readonly upstream: string
  /** Key of TROUBLES. */
  readonly trouble: string
  /** True to make two calls in one turn, after thoughts. */
  readonly parallel?: boolean
  /** Second turn of the same conversation; `other`: at a provider of the agent's own dialect. */
  readonly again?: 'same' | 'other'
  /** Model that the agent requests, and model that serves the request. */
  readonly known?: StageOptions['known']
  /**
   * Seed of the way in which the provider writes its answers; 0 is the usual way. The agent also writes a file. `isDirect`:
   * the calls lead past the gateway.
   */
  readonly seed?: number
  readonly isDirect?: boolean
  /** Call that reads a file, if this model makes this call in an unusual way. */
  readonly reads?: (file: string) => AgentCall
}

export interface Result extends AgentTask {
  readonly agent: string
  readonly version: string
  /** Requests at the gateway, recorded calls, inferences at the provider. */
  readonly requests: number
  readonly calls: number
  readonly inferences: number
  /** Reasons for which the mock provider refused requests, and the most tools that a request had. */
  readonly refusals: readonly string[]
  readonly tools: number
  readonly outcome: string
  /** Outcome of the second turn, and whether the model's thoughts were returned to it; null if not tried. */
  readonly second: string | null
  readonly reasoning: string | null
  /** Names of the losses in translation. */
  readonly losses: readonly string[]
  /** Sessions of the agent's main calls, which should be one, and the session's status line. */
  readonly session: string
  readonly line: string
  readonly seconds: number
  /** Hosts other than the gateway that the agent tried to reach. */
  readonly hosts: readonly string[]
  /** Details for debugging. */
  readonly details: Readonly<Record<string, unknown>>
}

export async function tryAgent(agent: TestedAgent, installed: Installed, task: AgentTask): Promise<Result> {
  const { client, upstream } = task
  const home = mkdtempSync(join(tmpdir(), `waybill-${agent.name}-`))
  const work = join(home, 'work')
  for (const name of ['work', 'tmp']) mkdirSync(join(home, name))
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(work, name), `${text}\n`)
  const stage = await openStage(
    {
      ...{ client, upstream, tools: agent.reads !== null, isDirect: task.isDirect === true },
      ...(task.known && { known: task.known }),
    },
    scriptOf(agent, work, task),
  )
  try {
    const [first, second] = await turns(agent, installed, task, stage, { home, work })
    return await resultOf(agent, installed, task, stage, first, second, { home, work })
  } finally {
    await stage.close()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

type Directories = Pick<RunParameters, 'home' | 'work'>

/** Runs the agent with the task, and again for a second turn. */
async function turns(
  { ways, ownAuto }: TestedAgent,
  { program }: Installed,
  task: AgentTask,
  stage: AgentStage,
  directories: Directories,
): Promise<[Ran, Ran | null]> {
  const way = ways[task.client]!
  const { home, work } = directories
  const run = (place: RunParameters, args: readonly string[], launched: boolean) => {
    for (const [path, text] of Object.entries(way.files?.(place) ?? {})) {
      mkdirSync(dirname(join(home, path)), { recursive: true })
      writeFileSync(join(home, path), text)
    }
    const env = { ...surroundings(program, home, stage), ...PLAIN, ...way.env?.(place) }
    const limits = { env, cwd: work, ms: RUN_TIMEOUT_MS }
    const launcher = ['run', '--url', place.url, '--model', place.model, '--', program]
    return launched
      ? runBounded(process.execPath, [join(root, 'src/cli.ts'), ...launcher, ...args], limits)
      : runBounded(program, args, limits)
  }
  const prompt = `Read note.txt and say what to do. ${stage.nonce}`
  const model = task.known?.asks ?? (ownAuto ? ALIAS : MODEL)
  const place: RunParameters = { ...directories, url: stage.url, model, prompt }
  if (way.before) await run(place, way.before(place), false)
  const first = await run(place, way.args(place), way.launched === true)
  if (task.again === undefined || way.again === undefined || first.code !== 0) return [first, null]
  const next = {
    ...place,
    model: task.again === 'other' ? OTHER : model,
    prompt: `And then? ${stage.nonce}`,
  }
  return [first, await run(next, way.again(next), way.launched === true)]
}

async function resultOf(
  agent: TestedAgent,
  { version }: Installed,
  task: AgentTask,
  stage: AgentStage,
  first: Ran,
  second: Ran | null,
  { home, work }: Directories,
): Promise<Result> {
  // Requests for the model list come from the launcher, not from the agent.
  const launched = agent.ways[task.client]!.launched === true
  const requests = stage.requests.filter((request) => !(launched && request === 'GET /v1/models'))
  const records = await Promise.all((await stage.records()).map(({ id }) => stage.record(id)))
  const inferences = stage.mock.entries().filter(({ kind }) => kind === 'inference')
  const bodies = inferences.map(({ body }) => JSON.stringify(body))
  const heard = (text: string) => bodies.some((body) => body.includes(text.split('\n').at(-1)!))
  const written = join(work, WRITTEN.name)
  const isWritten =
    task.seed === undefined || (existsSync(written) && readFileSync(written, 'utf8').trim() === WRITTEN.text)
  const done =
    agent.reads === null
      ? readFileSync(join(work, 'note.txt'), 'utf8').includes('The lamp is lit.')
      : isWritten && first.output.includes(FOUND) && filesOf(task).every((name) => heard(FILES[name]))
  const sessions = new Set(
    records.filter(({ purpose }) => purpose === 'main').map(({ session_id }) => session_id),
  )
  const [session = null] = sessions
  const isTied = sessions.size === 1 && session !== null
  const usual = task.known?.asks ?? (agent.ownAuto ? ALIAS : MODEL)
  const model = second !== null && task.again === 'other' ? OTHER : usual
  return {
    ...task,
    agent: agent.title,
    version,
    requests: requests.length,
    calls: records.length,
    inferences: inferences.length,
    refusals: inferences.flatMap(({ problems, answer }) => ((answer.status ?? 0) >= 400 ? problems : [])),
    tools: Math.max(0, ...inferences.map(({ body }) => toolsIn(body))),
    outcome: (await stage.refused()).includes('dialect_not_spoken')
      ? 'not translated'
      : outcomeOf(first, done, task),
    second: task.again ? secondOf(second) : null,
    reasoning: task.parallel
      ? reasoningOf(
          bodies,
          inferences.map(({ answer }) => answer.body ?? ''),
        )
      : null,
    losses: [
      ...new Set(records.flatMap(({ attempt_log }) => attempt_log.flatMap(({ losses }) => losses ?? []))),
    ].toSorted(),
    session: isTied ? 'yes' : sessions.size > 1 ? 'several' : 'no',
    line: isTied ? await lineOf(session, stage.url, home, model) : '-',
    seconds: Math.round((first.ms + (second?.ms ?? 0)) / 100) / 10,
    hosts: [...stage.hosts].toSorted(),
    details: {
      code: first.code,
      left: first.left,
      requests,
      records,
      mock: inferences.map(({ headers, body, problems, answer }) => ({ headers, body, problems, answer })),
      output: first.output.slice(-6_000),
      second: second?.output.slice(-6_000),
    },
  }
}

/** Returns two flags: the provider showed the model's thoughts, and a later call returned them. */
function reasoningOf(bodies: readonly string[], answers: readonly string[]): string {
  if (!answers.some((answer) => answer.includes(THOUGHT))) return 'not shown'
  return bodies.some((body) => body.includes(THOUGHT)) ? 'returned' : 'dropped'
}

/** Counts the tools of a request in any dialect. */
function toolsIn(body: unknown): number {
  const { tools = [], input } = body as { tools?: unknown[]; input?: unknown }
  const added = Array.isArray(input)
    ? input.flatMap((item) => (item.type === 'additional_tools' ? item.tools : []))
    : []
  return [...tools, ...added].reduce<number>((sum, tool) => {
    const { functionDeclarations: declared, tools: grouped } = tool as Record<string, unknown[] | undefined>
    return sum + (declared ?? grouped ?? [tool]).length
  }, 0)
}

const filesOf = ({ parallel }: AgentTask): (keyof typeof FILES)[] =>
  parallel ? ['note.txt', 'log.txt'] : ['note.txt']

/** Returns the model's script: calls that read the files, and then the answer. */
function scriptOf(agent: TestedAgent, work: string, task: AgentTask): ScriptedAnswer[] {
  const { edits } = agent
  const reads = task.reads ?? agent.reads
  const { parallel, trouble, again, client } = task
  const reasoning = parallel ? { reasoning: THOUGHT } : {}
  const calls = reads
    ? filesOf(task).map((name, n) => ({ id: `call_note_${n}`, ...reads(join(work, name)) }))
    : []
  if (task.seed !== undefined) return deviatingScript(agent, work, task, calls)
  return [
    ...TROUBLES[trouble]!,
    ...(reads ? [{ say: { ...reasoning, text: 'Let me look.', calls } }] : []),
    { say: { ...reasoning, text: edits ? edits('note.txt') : FOUND }, times: again ? 1 : 1_000 },
    { say: { text: AGAIN }, times: 1_000, ...(again === 'other' && { model: UPSTREAMS[client]!.main }) },
  ]
}

/** Returns the script of a run in which the agent also writes a file, with answers in the ways of many servers. */
function deviatingScript(
  { writes, edits }: TestedAgent,
  work: string,
  { seed = 0, client, upstream }: AgentTask,
  calls: AgentCall[],
): ScriptedAnswer[] {
  const write = writes?.(join(work, WRITTEN.name), WRITTEN.text)
  const turns = write
    ? [
        { text: 'Let me look.', calls },
        { text: 'Now I write it down.', calls: [{ id: 'call_write', ...write }] },
        { text: FOUND, calls: [] },
      ]
    : [{ text: edits!('note.txt'), calls: [] }]
  return turns.map(({ text, calls }, turn) => {
    const answered = ({ parts }: { readonly parts: readonly { readonly kind: string }[] }) =>
      parts.filter(({ kind }) => kind === 'result').length === turn
    // A call that the agent makes again gets the same answer again.
    const usual = { times: 20, ...(turns.length > 1 && { when: answered }) }
    // Some providers of other dialects require the model's thoughts in the next turn.
    const reasoning = upstream === client ? '' : THOUGHT
    if (seed === 0) return { ...usual, say: { reasoning, text, calls } }
    const meaning = {
      ...{ text, calls, reasoning, end: calls.length > 0 ? ('calls' as const) : ('stop' as const) },
      usage: { input: 4_000, output: 90, cached: 16 },
    }
    const written = disturbedStream(upstream, meaning, seeded(seed + turn)).toString('utf8')
    // Ids differ from turn to turn.
    const body = written.replaceAll(/("(?:id|call_id|item_id)":"[^"]+)"/g, `$1t${turn}"`)
    return { ...usual, status: 200, headers: { 'content-type': 'text/event-stream' }, body }
  })
}

/** Environment of an agent: a home of its own, no other host, and nothing of this shell. */
export const surroundings = (
  program: string,
  home: string,
  { proxy }: AgentStage,
): Record<string, string> => ({
  PATH: [dirname(program), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
  HOME: home,
  TMPDIR: join(home, 'tmp'),
  LANG: 'C.UTF-8',
  DO_NOT_TRACK: '1',
  HTTP_PROXY: proxy,
  HTTPS_PROXY: proxy,
  http_proxy: proxy,
  https_proxy: proxy,
  NO_PROXY: '127.0.0.1,localhost',
  no_proxy: '127.0.0.1,localhost',
})

/** For agents without a terminal. */
const PLAIN = { TERM: 'dumb', NO_COLOR: '1', CI: '1' }

function outcomeOf({ output, code, timedOut }: Ran, done: boolean, { trouble }: AgentTask): string {
  const end = timedOut ? `ended after ${RUN_TIMEOUT_MS / 1_000} s` : `exit ${code}`
  if (done && code === 0) return 'done'
  // A terminal may wrap the line at any place.
  if (trouble === 'only 400' && /Scripted\s+400/.test(output)) return `told, ${end}`
  return `${done ? 'done' : 'not done'}, ${end}`
}

function secondOf(second: Ran | null): string {
  if (second === null) return 'not tried'
  const { code, output } = second
  return code === 0 && output.includes(AGAIN) ? 'done' : `not done, exit ${code}`
}

/** Returns the status line of a session as its client would show it. */
async function lineOf(session_id: string, url: string, home: string, model: string): Promise<string> {
  const args = ['-c', `printf '%s' "$INPUT" | "$NODE" "$PROGRAM"`]
  const { output } = await runBounded('/bin/sh', args, {
    env: {
      INPUT: JSON.stringify({ session_id, model: { id: model } }),
      NODE: process.execPath,
      PROGRAM: join(root, 'src/statusline/main.ts'),
      WAYBILL_URL: url,
      NO_COLOR: '1',
      HOME: home,
    },
    cwd: home,
    ms: 10_000,
  })
  return output.trim()
}
