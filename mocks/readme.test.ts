// Runs the tests in the README as printed, except for the package's name, and type-checks all examples
// strictly.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'

test('the examples in the README work as described', (t) => {
  const readme = readFileSync(new URL('./README.md', import.meta.url), 'utf8')
  const examples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!)
  const tests = examples.filter((code) => code.includes("from 'node:test'"))
  const directory = mkdtempSync(join(tmpdir(), 'waybill-readme-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const library = new URL('./library.ts', import.meta.url).href
  const files = tests.map((code, i) => {
    const file = join(directory, `example${i}.mts`)
    writeFileSync(file, code.replace('waybill/mocks', library))
    return file
  })
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined } // a run of its own, not a part of this one
  const { stdout } = spawnSync(
    process.execPath,
    ['--test', '--test-isolation=none', '--test-reporter=tap', ...files],
    {
      encoding: 'utf8',
      env,
    },
  )
  assert.match(stdout, /^# pass 4$/m)
  assert.match(stdout, /^# fail 0$/m)
})

test('the examples of the READMEs satisfy the strictest type checker', (t) => {
  const beside = fileURLToPath(new URL('../.tmp/', import.meta.url)) // lets imports find packages
  mkdirSync(beside, { recursive: true })
  const directory = mkdtempSync(join(beside, 'readme-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const examples = ['./README.md', '../README.md'].flatMap((name) => [
    ...readFileSync(new URL(name, import.meta.url), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g),
  ])
  assert.ok(examples.length >= 3)
  for (const [i, [, example]] of examples.entries())
    writeFileSync(join(directory, `example${i}.ts`), example!)
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noPropertyAccessFromIndexSignature: true,
    noUnusedLocals: false,
    paths: { 'waybill/mocks': [fileURLToPath(new URL('./library.ts', import.meta.url))] },
  }
  const config = { extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'] }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config))
  const tsc = fileURLToPath(new URL('../node_modules/.bin/tsc', import.meta.url))
  const { stdout } = spawnSync(tsc, ['--noEmit', '-p', directory], { encoding: 'utf8' })
  assert.deepEqual(
    stdout.split('\n').filter((line) => /example\d\.ts/.test(line)),
    [],
  )
})
