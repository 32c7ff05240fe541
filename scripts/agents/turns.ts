// A session of many turns in which an agent writes and reads files, at a mock that answers by what was read; for the runs
// that record it and for those that step through it.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type MockProviders, writeNonce } from '../../mocks/library.ts'
import { type Ran, runBounded, UPSTREAMS } from './stage.ts'
import type { AgentCall, TestedAgent } from './table.ts'

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
export const TURNS_NONCE = 'a9e07ca5e5000002'
export const SECRET = 'A secret prompt about the harbour.'
const fileOf = (turn: number) => `page-${Math.floor(turn / 2)}.txt`
export const pageText = (turn: number) => `Page ${Math.floor(turn / 2)}: the bell was rung ${turn} times.`

/** Returns the texts of all files after some turns. */
export const expected = (turns: number): string =>
  Array.from({ length: turns / 2 }, (_, n) => pageText(2 * n)).join('\n')

interface Run {
  readonly agent: TestedAgent
  /** Path of the agent's program. */
  readonly program: string
  readonly place: Place
  readonly config: string
  /** Key of the mock provider. */
  readonly key: string
  readonly more?: Readonly<Record<string, string>>
}

/** Runs `waybill` with these arguments and the agent, with the prompt of the session. */
export function runTurns(
  how: readonly string[],
  { agent, program, place, config, key, more }: Run,
): Promise<Ran> {
  const { home, work } = place
  const prompt = `Write the pages of the log. ${SECRET} ${writeNonce(TURNS_NONCE)}`
  const given = { url: '', model: 'auto', home, work, prompt }
  const way = Object.values(agent.ways)[0]!
  for (const [path, text] of Object.entries(way.files?.(given) ?? {})) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const env = {
    PATH: [dirname(program), dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    ...{ HOME: home, LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1', CI: '1', DO_NOT_TRACK: '1' },
    MOCK_KEY: key,
    ...more,
    ...way.env?.(given),
  }
  const args = [CLI, ...how, '--config', config, '--model', 'auto', '--', program, ...way.args(given)]
  return runBounded(process.execPath, args, { env, cwd: work, ms: 600_000 })
}

/** Writes a configuration with a provider of a dialect at an address, and returns its path. */
export function writeConfig(top: string, client: string, address: string, context?: number): string {
  const upstream = UPSTREAMS[client]!
  const config = join(top, 'waybill.yaml')
  writeFileSync(
    config,
    JSON.stringify({
      data: join(top, 'data'),
      providers: {
        [upstream.provider]: { dialect: client, base_url: address, key: '$MOCK_KEY' },
      },
      ...(context && { models: { [`${upstream.provider}/${upstream.main}`]: { context } } }),
      routes: {
        auto: {
          targets: [upstream.main, upstream.aside].map((model) => ({
            model: `${upstream.provider}/${model}`,
          })),
        },
      },
      defaults: { [client]: 'auto' },
    }),
  )
  return config
}

export interface Place {
  readonly home: string
  readonly work: string
}

export function place(top: string, name: string): Place {
  const [home, work] = [join(top, `home-of-${name}`), join(top, `work-of-${name}`)]
  for (const each of [home, work]) {
    rmSync(each, { recursive: true, force: true })
    mkdirSync(each)
  }
  return { home, work }
}

/** Answer to a request to sum up. It replaces the prompt, so it passes on the nonce. */
const SUMMARY = `<summary>Go on. ${writeNonce(TURNS_NONCE)}</summary>`

/** Calls of other tools, by turn. */
export type Asides = Readonly<Record<number, AgentCall>>

/** The turns: in each pair, the agent writes a page, and then reads it. The answers tell apart what was read. */
export function script(
  mock: MockProviders,
  agent: TestedAgent,
  work: string,
  { main, aside }: typeof UPSTREAMS.chat & {},
  turns: number,
  asides: Asides = {},
  compacts: { readonly turn: number; readonly input: number } | null = null,
) {
  const answered = (turn: number) => (call: Conversation) =>
    call.parts.filter(({ kind }) => kind === 'result').length === turn
  mock.script(TURNS_NONCE, [
    { model: aside, scenario: 'plain', times: 1_000 },
    ...(compacts === null
      ? []
      : [
          { when: asksForSummary, say: { text: SUMMARY }, times: 1_000 },
          {
            model: main,
            when: answered(compacts.turn),
            say: sayOf(agent, work, compacts.turn, turns),
            usage: { input: compacts.input, output: 50 },
          },
        ]),
    ...Array.from({ length: turns + 1 }, (_, turn) => {
      const say = sayOf(agent, work, turn, turns, asides[turn])
      return { model: main, when: answered(turn), say, times: 1_000 }
    }),
  ])
}

interface Conversation {
  readonly parts: readonly { readonly kind: string; readonly text: string }[]
}

/** Words of a request to sum the conversation up, of each of the three agents. */
const SUMS_UP = /detailed summary of the conv|handoff summary|context summarization agent/i
const asksForSummary = ({ parts }: Conversation): boolean =>
  parts.slice(-3).some(({ kind, text }) => kind === 'text' && SUMS_UP.test(text))

export function sayOf(agent: TestedAgent, work: string, turn: number, turns: number, aside?: AgentCall) {
  const file = join(work, fileOf(turn))
  const call = aside ?? (turn % 2 === 0 ? agent.writes!(file, pageText(turn)) : agent.reads!(file))
  return { text: pageText(turn), calls: turn < turns ? [{ id: `call_${TURNS_NONCE}_${turn}`, ...call }] : [] }
}

/** Returns the texts of the files that the agent wrote, in order. */
export function pagesIn(work: string): string {
  const names = readdirSync(work)
    .filter((name) => name.startsWith('page-'))
    .sort()
  return names.map((name) => readFileSync(join(work, name), 'utf8').trim()).join('\n')
}
