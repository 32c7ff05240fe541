// `npm run agents -- terminal`: starts each agent that has a terminal interface with `waybill run` in a terminal (tmux),
// with the mock as its provider: two turns with a tool, an interrupt, another model, a gateway that ends and starts
// again, a compaction and a spent budget. Reads what the terminal shows, and compares the record with the mock's ledger. Apart from the installation,
// nothing leaves this machine.
//   npm run agents -- terminal [--agent NAME]… [--scratch DIR] [--screens DIR] [--write]
// --screens stores what the terminal showed after each step; --write puts the table into docs/agents.md, and needs all agents.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { ScriptedAnswer } from '../../mocks/library.ts'
import { cells } from '../../src/terminal/width.ts'
import { formatTable, writeTable } from './report.ts'
import { surroundings } from './run.ts'
import {
  type AgentStage,
  ALIAS,
  type Installed,
  installedAgents,
  MODEL,
  OTHER,
  openStage,
  SCRATCH,
  UPSTREAMS,
} from './stage.ts'
import { TESTED_AGENTS, type TerminalInterface, type TestedAgent } from './table.ts'

const { values } = parseArgs({
  options: {
    agent: { type: 'string', multiple: true },
    scratch: { type: 'string', default: SCRATCH },
    screens: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const STEP_TIMEOUT_MS = 120_000
const WIDTHS = [40, 60, 80, 200]
const NOTE = 'The keeper sleeps at seven.'
const LINE = 'The sea is calm, and no ship is in sight tonight.\n'
/** Last words of the model in each turn. */
const WORDS = ['Lantern one.', 'Lantern two.', 'Lantern three.', 'Lantern four.', 'Lantern five.'] as const
/** Texts that no agent may show: a sign-in, an unknown model, or a wrong window. */
const UNWANTED: Readonly<Record<string, RegExp>> = {
  'asks for a sign-in':
    /How would you like to authenticate|Sign in with|log ?in to continue|Enter Gemini API Key/i,
  'does not recognize the model': /isn.t recognized|metadata for .* not found/i,
  'assumes a window': /context assumed to be/i,
}

interface Row {
  readonly agent: string
  readonly steps: Readonly<Record<string, string>>
}
const STEPS =
  'questions|two turns|interrupt|other model|window|restart|compaction|spent budget|line|record|session'.split(
    '|',
  )

async function tryInTerminal(
  agent: TestedAgent,
  terminal: TerminalInterface,
  { program, version }: Installed,
): Promise<Row> {
  const steps: Record<string, string> = {}
  const home = mkdtempSync(join(tmpdir(), `waybill-${agent.name}-`))
  const work = join(home, 'work')
  for (const name of ['work', 'tmp']) mkdirSync(join(home, name))
  writeFileSync(
    join(work, 'note.txt'),
    `The lamp is out.\n${NOTE}\n${LINE.repeat((terminal.noteBytes ?? 0) / LINE.length)}`,
  )
  const stage = await openStage(
    { client: terminal.way, upstream: terminal.way, tools: true },
    scriptOf(agent, work, terminal.way),
  )
  const model = agent.ownAuto ? ALIAS : MODEL
  const place = { url: stage.url, model, home, work, prompt: '' }
  const way = agent.ways[terminal.way]!
  const line = `${process.execPath} ${join(ROOT, 'src/statusline/main.ts')}`
  const files = { ...(terminal.files ?? way.files)?.(place), ...terminal.line?.(line) }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const options = ['run', '--url', stage.url, '--model', model, '--', program, ...terminal.args]
  const command = [process.execPath, join(ROOT, 'src/cli.ts'), ...options]
  const environment = { ...surroundings(program, home, stage), TERM: 'xterm-256color', ...way.env?.(place) }
  const screen = openScreen(agent.name, work, environment, command)
  try {
    steps.questions = await start(screen, terminal)
    await converse(steps, screen, terminal, stage, model)
    const first = await sessionOf(stage)
    screen.close()
    steps.session = await sessionsOf(
      first,
      openScreen(agent.name, work, environment, command),
      terminal,
      stage,
    )
  } catch (error) {
    steps[steps.record ? 'session' : 'record'] = `stopped: ${(error as Error).message}`
  } finally {
    screen.close()
    await stage.close()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
  return { agent: `${agent.title} ${version}`, steps }
}

/** Has a conversation with the agent, step by step, and notes how each step ended. */
async function converse(
  steps: Record<string, string>,
  screen: Screen,
  terminal: TerminalInterface,
  stage: AgentStage,
  model: string,
): Promise<void> {
  const say = async (words: string, expected: string) => {
    await screen.type(`${words} ${stage.nonce}`)
    return screen.shows(expected)
  }
  steps['two turns'] =
    (await say('Read note.txt.', WORDS[0])) && (await say('Read note.txt again.', WORDS[1]))
      ? 'done'
      : 'not done'
  steps.interrupt = await interrupt(screen, stage)
  if (terminal.window) steps.window = await windowShown(screen, terminal.window, stage, model)
  if (terminal.switchTo) {
    await screen.type(terminal.switchTo(OTHER))
    await sleep(3_000)
    for (const key of terminal.switchKeys ?? []) screen.keys(key)
    const done = await say('And at another model?', WORDS[3])
    const asked = (await stage.records()).at(-1)?.requested_model
    steps['other model'] = done && asked === OTHER ? 'done' : `not done (${asked})`
  } else {
    steps['other model'] = 'only its own'
    await say('And once more?', WORDS[3])
  }
  steps.line = terminal.line ? await lineAtWidths(screen, terminal.margins ?? 0) : 'none'
  const begin = await stage.stop()
  await screen.type(`After the pause? ${stage.nonce}`)
  await sleep(3_000)
  await begin()
  steps.restart = (await screen.shows(WORDS[4], 30_000))
    ? 'went on by itself'
    : (await say('Again?', WORDS[4]))
      ? 'after another prompt'
      : 'not done'
  if (terminal.compact) steps.compaction = await compaction(screen, terminal.compact, stage)
  steps.record = await compared(stage)
  steps['spent budget'] = await spentBudget(screen, stage, terminal.way)
  const found = Object.entries(UNWANTED).flatMap(([name, text]) =>
    screen.seen().some((each) => text.test(each)) ? [name] : [],
  )
  steps.questions = [steps.questions, ...found].join(', ')
}

/** Compacts the conversation, and goes on with it. */
async function compaction(screen: Screen, command: string, stage: AgentStage): Promise<string> {
  const purposes: string[] = []
  for (const words of [command, `Still there? ${stage.nonce}`]) {
    const before = (await stage.records()).length
    await screen.type(words)
    const end = performance.now() + STEP_TIMEOUT_MS
    const ended = async () => (await stage.records()).slice(before).find(({ state }) => state === 'completed')
    let call = await ended()
    while (!call && performance.now() < end) {
      await sleep(300)
      call = await ended()
    }
    if (!call) return purposes.length === 0 ? 'not done' : 'did not go on'
    purposes.push(String(call.purpose))
  }
  return /not beneficial/.test(screen.text())
    ? `without effect, as ${purposes[0]}` // the agent threw the summary away
    : `done, as ${purposes[0]}`
}

/** Key that `waybill run` gives to agents if there is none. */
const KEY_DIGEST = createHash('sha256').update('none-needed').digest('hex')

/** Goes on with a key whose budget is too small for two calls; returns what the terminal then shows. */
async function spentBudget(screen: Screen, stage: AgentStage, way: string): Promise<string> {
  const inferences = () => stage.mock.entries().filter(({ kind }) => kind === 'inference').length
  const { main, aside } = UPSTREAMS[way]!
  const prices = ['up', 'own'].flatMap((name) =>
    [main, aside].map((id) => `"${name}/${id}": { price: { input: 1, output: 1 } }`),
  )
  await (await stage.stop())(
    `models: { ${prices.join(', ')} }
keys: [ { name: terminal, digest: "sha256:${KEY_DIGEST}", budget: { usd: 0.0000001, per: day } } ]`,
  )
  await screen.type(`Is there money left? ${stage.nonce}`) // one call may exceed a budget
  await sleep(6_000)
  const before = inferences()
  await screen.type(`And now? ${stage.nonce}`)
  await sleep(15_000)
  const text = screen.text().replaceAll(/\s+/g, ' ')
  const own = /[^.│■●⎿›]*\b(?:quota|rate limit|usage limit|billing|429)\b[^.│■●⎿›]*/i.exec(text)
  const shown = /key \\?"terminal\\?" has (?!a budget, but)/.test(text)
    ? 'our sentence'
    : (own?.[0].trim().slice(-60) ?? 'no reason')
  screen.keys('Escape')
  await (await stage.stop())()
  const made = inferences() - before
  return made === 0 ? shown : `${shown}, but ${made} inferences`
}

/** Compares the context window that the agent shows with that of the smallest target. */
async function windowShown(
  screen: Screen,
  command: string,
  stage: AgentStage,
  model: string,
): Promise<string> {
  await screen.type(command)
  const smallest = await smallestWindow(stage, model)
  const end = performance.now() + STEP_TIMEOUT_MS
  let shown: string[] = []
  while (shown.length === 0 && performance.now() < end) {
    await sleep(4_000)
    shown = screen.text().match(/[\d.]+ ?[kKM]\b/g) ?? []
  }
  screen.keys('Escape')
  if (shown.some((text) => Math.abs(tokens(text) - smallest) < smallest / 50)) return 'as the smallest target'
  return shown.length > 0 && shown.every((text) => tokens(text) <= smallest)
    ? 'less than the smallest target'
    : `${shown.join(', ') || 'not shown'} instead of ${smallest / 1_000}k`
}

/** Starts the agent again, and compares the session of this run with that of the first. */
async function sessionsOf(
  first: string | null,
  again: Screen,
  terminal: TerminalInterface,
  stage: AgentStage,
): Promise<string> {
  try {
    await start(again, terminal)
    const before = (await stage.records()).length
    await again.type(`A new session? ${stage.nonce}`)
    await again.shows(WORDS[4])
    const second = await sessionOf(stage, before)
    if (first === null || second === null) return 'none'
    return first === second ? 'the same in two runs' : 'one each'
  } finally {
    again.close()
  }
}

/** Returns the model's script, turn by turn. The last answer has no limit. */
function scriptOf(agent: TestedAgent, work: string, way: string): ScriptedAnswer[] {
  const read = { id: 'call_note', ...agent.reads!(join(work, 'note.txt')) }
  const turn = (text: string): ScriptedAnswer[] => [
    { say: { text: 'Let me look.', calls: [read] } },
    { say: { text } },
  ]
  return [
    ...turn(WORDS[0]),
    ...turn(WORDS[1]),
    { wait: 20_000, say: { text: WORDS[2] } },
    { model: UPSTREAMS[way]!.main, say: { text: WORDS[3] } },
    { model: UPSTREAMS[way]!.main, say: { text: WORDS[4] } },
  ]
}

/** Waits until the agent accepts a prompt, and answers its questions; returns their names. */
async function start(screen: Screen, { ready, questions }: TerminalInterface): Promise<string> {
  const asked: string[] = []
  const end = performance.now() + STEP_TIMEOUT_MS
  let calm = 0
  while (performance.now() < end && calm < 4) {
    await sleep(1_000)
    const text = screen.text()
    const [name, , keys] = questions.find(([, shown]) => shown.test(text)) ?? []
    if (name !== undefined && asked.filter((each) => each === name).length < 3) {
      asked.push(name)
      for (const key of keys!) screen.keys(key)
      calm = 0
    } else if (ready.test(text)) calm++
  }
  if (calm < 4) throw new Error('the agent did not accept a prompt')
  return [...new Set(asked)].join(', ') || 'none'
}

/** Interrupts a call that its provider does not answer. */
async function interrupt(screen: Screen, stage: AgentStage): Promise<string> {
  const before = (await stage.records()).length
  await screen.type(`Wait for it. ${stage.nonce}`)
  const end = performance.now() + STEP_TIMEOUT_MS
  while ((await stage.records()).length === before && performance.now() < end) await sleep(200)
  await sleep(1_500)
  for (const wait of [1_000, 4_000]) {
    screen.keys('Escape')
    // Some agents want it twice in a row. Without a pause, a terminal takes both as one key with Alt.
    if (wait > 1_000) {
      await sleep(250)
      screen.keys('Escape')
    }
    await sleep(wait)
    const aborted = (await stage.records()).slice(before).some(({ state }) => state === 'aborted')
    if (aborted) return 'aborted'
  }
  return 'not aborted'
}

/** Returns `whole` if the line is drawn without a cut at each width. */
async function lineAtWidths(screen: Screen, margins: number): Promise<string> {
  const cut: string[] = []
  for (const width of WIDTHS) {
    screen.resize(width)
    let shown = ''
    const isWhole = () => shown !== '' && !shown.includes('…') && cells(shown) <= width - margins
    // The agent asks for a line of the new width at its next occasion, and cuts the old one until then.
    for (let tries = 0; tries < 10 && !isWhole(); tries++) {
      await screen.type(' ')
      await sleep(2_500)
      const rows = screen.text().split('\n')
      shown = rows.findLast((row) => /(up|own)\//.test(row))?.trim() ?? ''
    }
    if (!isWhole()) cut.push(`${width}: ${shown || 'none'}`)
  }
  screen.resize(100)
  return cut.length === 0 ? `whole at ${WIDTHS.join(', ')}` : cut.join('; ')
}

/** Compares the record with the mock's ledger. */
async function compared(stage: AgentStage): Promise<string> {
  const records = await Promise.all((await stage.records()).map(({ id }) => stage.record(id)))
  const attempts = records.reduce(
    (sum, { attempt_log }) => sum + attempt_log.filter(({ outcome }) => outcome !== 'not_sent').length,
    0,
  )
  const inferences = stage.mock.entries().filter(({ kind }) => kind === 'inference').length
  return `${attempts} of ${inferences}`
}

/** Returns the only session of the main calls from a place in the record on; null without one. */
async function sessionOf(stage: AgentStage, from = 0): Promise<string | null> {
  const main = (await stage.records()).slice(from).filter(({ purpose }) => purpose === 'main')
  const sessions = new Set(main.map(({ session_id }) => session_id))
  return sessions.size === 1 ? [...sessions][0]! : null
}

async function smallestWindow({ url }: AgentStage, model: string): Promise<number> {
  const read = async <Answer>(path: string): Promise<Answer> =>
    (await (await fetch(url + path)).json()) as Answer
  const { models } = await read<{ models: { name: string; model_ids: string[] }[] }>('/v1beta/models')
  const { data } = await read<{ data: { id: string; context_window?: number }[] }>('/v1/models')
  const targets = models.find(({ name }) => name === model)!.model_ids
  return Math.min(
    ...data.filter(({ id }) => targets.includes(id)).flatMap((each) => each.context_window ?? []),
  )
}

const tokens = (text: string): number => Number.parseFloat(text) * (/M/.test(text) ? 1_000_000 : 1_000)

interface Screen {
  /** Returns what the terminal shows now. */
  text(): string
  /** Returns everything that the terminal showed when it was read. */
  seen(): readonly string[]
  shows(words: string, ms?: number): Promise<boolean>
  keys(key: string): void
  /** Types a text and presses Enter. */
  type(text: string): Promise<void>
  resize(width: number): void
  close(): void
}

let screens = 0

function openScreen(
  name: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
  command: readonly string[],
): Screen {
  const server = `waybill-${process.pid}-${++screens}`
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', server, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`
  const settings = Object.entries(env).map(([key, value]) => quoted(`${key}=${value}`))
  const size = ['-x', '100', '-y', '40']
  const program = `exec env -i ${settings.join(' ')} ${command.map(quoted).join(' ')}`
  tmux('-f', '/dev/null', 'new-session', '-d', '-s', name, ...size, '-c', cwd, program)
  tmux('set-option', '-g', 'remain-on-exit', 'on')
  const seen: string[] = []
  let isOpen = true
  const screen: Screen = {
    text() {
      const text = tmux('capture-pane', '-p', '-t', name)
      if (text !== seen.at(-1)) seen.push(text)
      if (values.screens) {
        mkdirSync(values.screens, { recursive: true })
        writeFileSync(join(values.screens, `${name}-${screens}.txt`), seen.join('\n=====\n'))
      }
      if (/^Pane is dead/m.test(text)) throw new Error('the agent ended')
      return text
    },
    seen: () => seen,
    async shows(words, ms = STEP_TIMEOUT_MS) {
      const end = performance.now() + ms
      while (performance.now() < end) {
        if (screen.text().replaceAll(/\s+/g, ' ').includes(words)) return true
        await sleep(300)
      }
      return false
    },
    keys: (key) => void tmux('send-keys', '-t', name, key),
    async type(text) {
      await sleep(2_000) // an agent may still be drawing the end of its turn
      screen.keys('C-u') // an interrupted prompt may be back in the input
      if (text !== '') tmux('send-keys', '-t', name, '-l', text)
      await sleep(700)
      tmux('send-keys', '-t', name, 'Enter')
    },
    resize: (width) => void tmux('resize-window', '-t', name, '-x', String(width)),
    close() {
      if (!isOpen) return
      isOpen = false
      const leader = Number(tmux('display-message', '-p', '-t', name, '#{pane_pid}'))
      tmux('kill-server')
      try {
        process.kill(-leader, 'SIGKILL') // Gemini CLI stays when its terminal goes
      } catch {} // it has ended
    },
  }
  return screen
}

async function runAll(): Promise<void> {
  if (values.write && values.agent) throw new Error('--write writes the whole table; leave out --agent')
  const rows: Row[] = []
  for (const agent of TESTED_AGENTS) {
    const { terminal, name, title } = agent
    if (!terminal || values.agent?.includes(name) === false) continue
    const [found] = installedAgents([name], values.scratch)
    const row = found
      ? await tryInTerminal(agent, terminal, found.installed)
      : { agent: title, steps: { questions: 'cannot be installed' } }
    rows.push(row)
    console.log(`${row.agent}: ${STEPS.map((name) => `${name}: ${row.steps[name] ?? '-'}`).join('; ')}`)
  }
  const table = formatTable(
    ['agent', ...STEPS].join('|'),
    rows.map(({ agent, steps }) => [agent, ...STEPS.map((name) => steps[name] ?? '-')]),
  )
  console.log(`\n${table}`)
  if (values.write) writeTable('agents-terminal', table)
}

await runAll()
