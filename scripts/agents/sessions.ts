// `npm run agents -- sessions`: records a session of Claude Code, Codex and opencode at a mock with `waybill record`, in
// which the agent writes, reads and changes files over 16 turns, and replays it with `waybill replay`: in another
// directory, with another home, and, if libfaketime is installed, a day later (not Codex, which is linked statically). The
// replayed answers lead to the next requests. Prints what was matched, what the agent wrote, and what the recordings hold.
//   npm run agents -- sessions [--agent NAME]… [--scratch DIR] [--next DIR] [--turns FILE] [--write]
// --next names a scratch directory with other versions for the replay; --turns writes the time and size of each call; --write puts the
// table into docs/agents.md.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { createMockProviders } from '../../mocks/library.ts'
import { formatTable, writeTable } from './report.ts'
import { type Installed, installAgent, installedAgents, SCRATCH, UPSTREAMS } from './stage.ts'
import type { TestedAgent } from './table.ts'
import {
  expected,
  type Place,
  pagesIn,
  pageText,
  place,
  runTurns,
  SECRET,
  sayOf,
  script,
  TURNS_NONCE,
  writeConfig,
} from './turns.ts'

const { values } = parseArgs({
  options: {
    agent: { type: 'string', multiple: true, default: ['claude-code', 'codex', 'opencode'] },
    scratch: { type: 'string', default: SCRATCH },
    next: { type: 'string' },
    turns: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'
const TURNS = 16

const sizes: Record<string, { at: number; input: number; output: number }[]> = {}
const rows: string[][] = []
for (const { agent, installed } of installedAgents(values.agent, values.scratch)) {
  const next = values.next ? installAgent(agent, values.next) : installed
  rows.push(await tryAgent(agent, installed, next))
  console.log(rows.at(-1)!.join('; '))
}
const table = formatTable(
  'agent|replayed by|calls|matched|files|final words|a day later|prompts and secrets in the recordings',
  rows,
)
console.log(`\n${table}`)
if (values.write) writeTable('agents-sessions', table)
if (values.turns) writeFileSync(values.turns, JSON.stringify(sizes))

async function tryAgent(agent: TestedAgent, installed: Installed, next: Installed): Promise<string[]> {
  const [client] = Object.keys(agent.ways) as [string]
  const upstream = UPSTREAMS[client]!
  const mock = await createMockProviders()
  const top = mkdtempSync(join(tmpdir(), 'waybill-sessions-'))
  const recordings = join(top, 'recordings')
  const first = place(top, 'first')
  const second = place(top, 'elsewhere')
  const key = mock.key(upstream.provider)
  const config = writeConfig(top, client, mock.baseUrl(upstream.provider))
  script(mock, agent, first.work, upstream, TURNS)
  const run = (how: readonly string[], at: Place, { program }: Installed, later: boolean) =>
    runTurns(how, { agent, program: later ? laterProgram(top, program) : program, place: at, config, key })
  const recorded = await run(['record', '--out', recordings, '--keep-answers'], first, installed, false)
  sizes[agent.name] = mock
    .entries()
    .filter(({ kind, model }) => kind === 'inference' && model === upstream.main)
    .map(({ at, body }, turn) => ({
      at,
      input: sizeOf(JSON.stringify(body)),
      output: sizeOf(JSON.stringify(sayOf(agent, first.work, turn, TURNS))),
    }))
  await mock.close()
  // Another version has other instructions and tools.
  const near = next.version === installed.version ? [] : ['--similar']
  const canBeLater = agent.name !== 'codex' && existsSync(FAKETIME)
  const replayed = await run(['replay', '--recordings', recordings, ...near], second, next, canBeLater)
  const [, answered = '0', calls = '0'] = /(\d+) of (\d+) calls were answered/.exec(replayed.output) ?? []
  const held = readdirSync(recordings, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(json|sse|txt)$/.test(name))
    .map((name) => readFileSync(join(recordings, name), 'utf8'))
    .join('\n')
  const found = [SECRET, key, TURNS_NONCE].filter((text) => held.includes(text))
  const row = [
    `${agent.title} ${installed.version}`,
    next.version,
    `${sizes[agent.name]!.length} recorded`,
    `${answered} of ${calls}${answered === calls && calls !== '0' ? '' : `: ${replayed.output.slice(-600).replaceAll(/\s+/g, ' ')}`}`,
    pagesIn(second.work) === pagesIn(first.work) && pagesIn(first.work) === expected(TURNS)
      ? 'the same'
      : `${pagesIn(first.work)} / ${pagesIn(second.work)}`,
    [recorded, replayed].every(({ output }) => output.includes(pageText(TURNS)))
      ? 'the same'
      : `missing; exit ${recorded.code}, ${replayed.code}: ${recorded.output.slice(-300).replaceAll(/\s+/g, ' ')}`,
    canBeLater ? 'yes' : 'no',
    String(found.length),
  ]
  rmSync(top, { recursive: true, force: true, maxRetries: 5 })
  return row
}

/** Makes a program of the same name whose clock is a day later. */
function laterProgram(top: string, program: string): string {
  const path = join(top, 'later', basename(program))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(
    path,
    `#!/bin/sh\nexport LD_PRELOAD=${FAKETIME} FAKETIME=+1d FAKETIME_DONT_FAKE_MONOTONIC=1\nexec ${program} "$@"\n`,
    { mode: 0o755 },
  )
  return path
}

/** Tokens of a text, by the usual rule of four characters. */
function sizeOf(text: string): number {
  return Math.ceil(text.length / 4)
}
