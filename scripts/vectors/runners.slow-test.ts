// The runners of conformance/vectors/ in other languages agree with `judgeResult` about right and wrong results.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, suite, test } from 'node:test'
import { vectorFiles, vectorText } from './make.ts'

const VECTORS = join(import.meta.dirname, '../../conformance/vectors')
const RUNNERS = join(VECTORS, 'runners')
const ADAPTER = [process.execPath, '--import', 'tsx', join(import.meta.dirname, 'adapter.ts')]
const made = mkdtempSync(join(tmpdir(), 'vectors-'))

interface Runner {
  readonly file: string
  /** A program that must be there. */
  readonly needs: readonly string[]
  readonly build?: readonly string[]
  readonly command: readonly string[]
  /** Stands before the program that is asked. */
  readonly before?: readonly string[]
}

const LANGUAGES: Readonly<Record<string, Runner>> = {
  Python: {
    file: 'run.py',
    needs: ['python3', '--version'],
    command: ['python3', join(RUNNERS, 'run.py')],
    before: ['--'],
  },
  Go: {
    file: 'run.go',
    needs: ['go', 'version'],
    build: ['go', 'build', '-o', join(made, 'go'), join(RUNNERS, 'run.go')],
    command: [join(made, 'go')],
  },
  Rust: {
    file: 'run.rs',
    needs: ['rustc', '--version'],
    build: ['rustc', '-O', '-o', join(made, 'rust'), join(RUNNERS, 'run.rs')],
    command: [join(made, 'rust')],
  },
}

/** Runs a runner; returns its lines and its exit code. */
async function run(command: readonly string[]): Promise<{ readonly lines: string[]; readonly code: number }> {
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? 1)))
  return { lines: (await text(child.stdout)).trim().split('\n'), code: await ended }
}

suite('runners', () => {
  after(() => rmSync(made, { recursive: true, force: true }))
  for (const [language, { file, needs, build, command, before = [] }] of Object.entries(LANGUAGES)) {
    const { error } = spawnSync(needs[0]!, needs.slice(1))
    const skip = error ? `${needs[0]} is not installed` : false
    test(`the runner in ${language} is at most 250 lines, passes what is right, and names what is wrong`, {
      skip,
    }, async () => {
      assert.ok(readFileSync(join(RUNNERS, file), 'utf8').trimEnd().split('\n').length <= 250)
      if (build) assert.equal(spawnSync(build[0]!, build.slice(1), { stdio: 'inherit' }).status, 0)
      const right = await run([...command, VECTORS, ...before, ...ADAPTER])
      const expected = Object.entries(vectorFiles()).map(
        ([name, { vectors }]) => `${name}: ${vectors.length} pass, 0 fail, 0 untold, 0 cannot`,
      )
      assert.deepEqual(right, { lines: expected, code: 0 })
      // One vector of each rule, with its last check reversed.
      let count = 0
      for (const [name, all] of Object.entries(vectorFiles())) {
        const rules = new Map(all.vectors.map((each) => [each.rule, each]))
        const vectors = [...rules.values()].map((each) => ({
          ...each,
          expect: each.expect.map((checks) => checks.with(-1, ['is', checks.at(-1)![1], { never: true }])),
        }))
        count += vectors.length
        writeFileSync(join(made, `${name}.json`), vectorText({ ...all, vectors }))
      }
      const wrong = await run([...command, made, ...before, ...ADAPTER])
      assert.equal(wrong.code, 1)
      // A result does not always have a place whose check is the only one of an alternative.
      const counted = wrong.lines.filter((line) =>
        /^\w+: \d+ pass, \d+ fail, \d+ untold, 0 cannot$/.test(line),
      )
      const passed = counted.reduce((sum, line) => sum + Number(/(\d+) pass/.exec(line)![1]), 0)
      assert.deepEqual([counted.length, passed], [5, 0])
      assert.ok(wrong.lines.length >= count / 2, `${wrong.lines.length} lines for ${count} rules`)
    })
  }
})
