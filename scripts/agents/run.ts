// One run of one agent: a task, what goes wrong on its way, and what came of it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ScriptedAnswer } from '../../mocks/library.ts'
import type { Installed } from './install.ts'
import { runBounded } from './process.ts'
import { MODEL, openStage, type Stage } from './stage.ts'
import type { Agent, Place } from './table.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const MOST_MS = 90_000

/** What the model of the witness is to find in the file, and what it says when it has. */
const SECRET = 'The lamp is out.\nThe keeper sleeps at seven.'
const FOUND = 'The keeper has been woken.'

/** What goes wrong, before all goes well. */
export const TROUBLES: Readonly<Record<string, readonly ScriptedAnswer[]>> = {
  task: [],
  'a 429': [{ status: 429, headers: { 'retry-after': '1' } }],
  'a 529': [{ status: 529 }],
  'a cut stream': [{ scenario: 'cut-after-4' }],
  'only 400': [{ status: 400, times: 1_000 }],
}

export interface Result {
  readonly agent: string
  readonly version: string
  readonly client: string
  readonly upstream: string
  readonly trouble: string
  /** Requests at the gateway, calls on record, inferences at the provider. */
  readonly requests: number
  readonly calls: number
  readonly inferences: number
  readonly outcome: string
  /** How its calls carry a session, and what the status line then shows. */
  readonly session: string
  readonly line: string
  readonly seconds: number
  readonly hosts: readonly string[]
  /** For whoever looks into it. */
  readonly details: Readonly<Record<string, unknown>>
}

export async function runAgent(
  agent: Agent,
  { program, version }: Installed,
  client: string,
  upstream: string,
  trouble: string,
): Promise<Result> {
  const way = agent.ways[client]!
  const home = mkdtempSync(join(tmpdir(), `waybill-${agent.name}-`))
  const work = join(home, 'work')
  const file = join(work, 'note.txt')
  for (const name of ['work', 'tmp']) mkdirSync(join(home, name))
  writeFileSync(file, `${SECRET}\n`)
  const stage = await openStage({ client, upstream, tools: agent.reads !== null }, [
    ...TROUBLES[trouble]!,
    ...taskOf(agent, file),
  ])
  try {
    const prompt = `Read note.txt and say what to do. ${stage.nonce}`
    const place: Place = { url: stage.url, model: MODEL, home, work, prompt }
    for (const [path, text] of Object.entries(way.files?.(place) ?? {})) {
      mkdirSync(dirname(join(home, path)), { recursive: true })
      writeFileSync(join(home, path), text)
    }
    const env = { ...surroundings(program, home, stage), ...way.env?.(place) }
    const limits = { env, cwd: work, ms: MOST_MS }
    if (way.before) await runBounded(program, way.before(place), limits)
    const launcher = [join(root, 'src/cli.ts'), 'run', '--url', stage.url, '--model', MODEL, '--', program]
    const ran = way.launched
      ? await runBounded(process.execPath, [...launcher, ...way.args(place)], limits)
      : await runBounded(program, way.args(place), limits)
    const requests = stage.requests.slice(way.launched ? 1 : 0) // the first is the launcher's own
    const records = await stage.records()
    const inferences = stage.witness.entries().filter(({ kind }) => kind === 'inference')
    const read =
      agent.reads === null
        ? readFileSync(file, 'utf8').includes('The lamp is lit.')
        : inferences.some(({ body }) => JSON.stringify(body).includes('sleeps at seven'))
    const said = ran.output.includes(FOUND) || agent.reads === null
    const told = /Scripted 400/.test(ran.output)
    const mains = records.filter(({ purpose }) => purpose === 'main')
    const sessions = new Set(mains.map(({ session_id }) => session_id))
    const [session] = sessions
    const tied = sessions.size === 1 && session !== null && session !== undefined
    return {
      agent: agent.title,
      version,
      client,
      upstream,
      trouble,
      requests: requests.length,
      calls: records.length,
      inferences: inferences.length,
      outcome: outcomeOf({ ...ran, done: read && said, told, trouble }),
      session: tied ? 'tied' : sessions.size > 1 ? 'several' : 'none',
      line: tied ? await lineOf(session, stage.url, home) : '-',
      seconds: Math.round(ran.ms / 100) / 10,
      hosts: [...stage.hosts].toSorted(),
      details: {
        home,
        code: ran.code,
        left: ran.left,
        requests,
        records: records.map(
          ({
            purpose,
            requested_model,
            resolved_model,
            state,
            status,
            error_code,
            session_id,
            agent_id,
            tokens,
            cost_usd,
          }) => ({
            purpose,
            requested_model,
            resolved_model,
            state,
            status,
            error_code,
            session_id,
            agent_id,
            tokens,
            cost_usd,
          }),
        ),
        witness: stage.witness
          .entries()
          .map(({ kind, path, model, stream, problems, answer: { from, status } }) => ({
            kind,
            path,
            model,
            stream,
            problems,
            from,
            status,
          })),
        bodies: inferences.map(({ headers, body }) => ({ headers, body })),
        output: ran.output.slice(-6_000),
      },
    }
  } finally {
    await stage.close()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** What the model does: it has the file read, and then says what it was asked for. */
function taskOf({ reads, edits }: Agent, file: string): ScriptedAnswer[] {
  const last: ScriptedAnswer = { say: { text: edits ? edits('note.txt') : FOUND }, times: 1_000 }
  return reads
    ? [{ say: { text: 'Let me look.', calls: [{ id: 'call_note_1', ...reads(file) }] } }, last]
    : [last]
}

const surroundings = (program: string, home: string, { proxy }: Stage): Record<string, string> => ({
  PATH: [dirname(program), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
  HOME: home,
  TMPDIR: join(home, 'tmp'),
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  NO_COLOR: '1',
  CI: '1',
  DO_NOT_TRACK: '1',
  HTTP_PROXY: proxy,
  HTTPS_PROXY: proxy,
  http_proxy: proxy,
  https_proxy: proxy,
  NO_PROXY: '127.0.0.1,localhost',
  no_proxy: '127.0.0.1,localhost',
})

function outcomeOf(ran: {
  done: boolean
  told: boolean
  trouble: string
  code: number | null
  timedOut: boolean
}): string {
  const { done, told, trouble, code, timedOut } = ran
  const end = timedOut ? 'ended after 90 s' : `exit ${code}`
  if (done && code === 0) return 'done'
  if (trouble === 'only 400' && told) return `told, ${end}`
  return `${done ? 'done' : 'not done'}, ${end}`
}

/** The status line of a session, as its client would draw it. */
async function lineOf(session_id: string, url: string, home: string): Promise<string> {
  const args = ['-c', `printf '%s' "$INPUT" | "$NODE" "$PROGRAM"`]
  const { output } = await runBounded('/bin/sh', args, {
    env: {
      INPUT: JSON.stringify({ session_id, model: { id: MODEL } }),
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
