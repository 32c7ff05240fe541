// Tests `waybill conform` with gateways that send without end: exit code 3, a reason in one line, a report,
// and an end in bounded time and memory.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startCli } from '../../src/test/test-cli.ts'
import { sample } from '../../src/test/test-size.ts'
import type { HOSTILITIES } from './test-hostile-gateway.ts'

const root = mkdtempSync(join(tmpdir(), 'waybill-bounds-test-'))
after(() => rmSync(root, { recursive: true, force: true }))

const PROGRAM = fileURLToPath(new URL('./test-hostile-gateway.ts', import.meta.url))
/** Resident memory of the suite, bytes. */
const MAX_MEMORY = 600 * 2 ** 20
/** Maximum duration on a busy machine, ms; an idle machine takes half of it. */
const MAX_TIME = 360_000

/** Pattern of the reason. The first two tests mostly wait, so that the others run beside them. */
const REASONS: Readonly<Record<keyof typeof HOSTILITIES, RegExp>> = {
  'drips a byte each 300 ms': /6 answers of hostile in a row had no end in their time/,
  'says nothing more': /6 answers of hostile in a row had no end in their time/,
  'streams without end': /sent too much in \S+#\d+, \w+ \/v1/,
  'sends tiny events without end': /sent too much in/,
  'sends JSON without end': /sent too much in/,
  'lists models without end': /sent too much in \S+#\d+, GET \/v1\/models/,
  'sends a bomb': /sent too much in/,
  'sends a bomb in a bomb': /sent too much in/,
  'nests brackets': /sent too much in/,
  'sends headers without end': /sent too much in .+the headers are longer than 64 KiB/,
  'sends interim answers without end': /sent too much in .+more than 1000 interim answers/,
}

describe('waybill conform with a gateway that sends without end', { concurrency: 3 }, () => {
  for (const [kind, reason] of sample(Object.entries(REASONS), 5)) testKind(kind, reason)
})

function testKind(kind: string, reason: RegExp): void {
  test(`a gateway that ${kind} ends the run with a reason and a report (SUITE-02)`, {
    timeout: MAX_TIME,
  }, async (t) => {
    const report = join(root, kind.replaceAll(' ', '-'))
    const file = join(root, `${kind}.yaml`)
    writeFileSync(
      file,
      JSON.stringify({
        name: 'hostile',
        start: { command: ['{{node}}', PROGRAM, kind] },
        ready: { path: '/healthz' },
        env: { PORT: '{{port}}', PROVIDER: '{{mock.openai.root}}', KEY: '{{mock.openai.key}}' },
        providers: { openai: {} },
        models: { direct: [{ id: 'gpt-5-mini', provider: 'openai', model: 'gpt-5-mini' }] },
        capabilities: { catalog: '/v1/models', read_paths: ['/v1/models'] },
      }),
    )
    const began = Date.now()
    const { child, ended } = startCli(['conform', file, '--quick', '--report', report])
    let memory = 0
    const watching = (async () => {
      while (child.exitCode === null) {
        memory = Math.max(memory, memoryOf(child.pid!))
        await sleep(100, undefined, { ref: false })
      }
    })()
    const { code, stdout, stderr } = await ended
    await watching
    t.diagnostic(
      `exit ${code}, ${Math.round(memory / 2 ** 20)} MiB, ${((Date.now() - began) / 1_000).toFixed(0)} s`,
    )
    assert.doesNotMatch(stderr, /\n\s+at /)
    const results = JSON.parse(readFileSync(join(report, 'results.json'), 'utf8'))
    t.diagnostic(results.reason)
    assert.equal(code, 3, stdout + stderr)
    assert.match(results.reason, reason)
    assert.match(stdout, reason)
    assert.ok(existsSync(join(report, 'index.html')))
    assert.ok(memory < MAX_MEMORY, `${memory} bytes`)
  })
}

/** Returns the peak memory of a process so far; 0 if the system does not report it. */
function memoryOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024
  } catch {
    return 0
  }
}
