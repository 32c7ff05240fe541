// Tests that a mistake in a target file is reported with its line and the probable correction, and that the
// package's target files are valid.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ownTargets, readTarget } from './read.ts'
import { targetJsonSchema } from './schema.ts'

const directory = mkdtempSync(join(tmpdir(), 'waybill-target-'))
after(() => rmSync(directory, { recursive: true }))

let count = 0
function write(text: string): string {
  const file = join(directory, `${++count}.yaml`)
  writeFileSync(file, text)
  return file
}

/** Returns the problems without the name of the file. */
function said(text: string): string[] {
  const file = write(text)
  try {
    readTarget(file)
    return []
  } catch (thrown) {
    assert.equal((thrown as Error).name, 'TargetError')
    return (thrown as Error).message.split('\n').map((line) => line.replace(`${file}:`, ''))
  }
}

const NAME = 'name: x\n'
const START = 'start: { url: http://127.0.0.1:1 }\n'
const REST = 'providers: { openai: {} }\nmodels: { call: m }\n'

describe('a mistake in a target file is reported with its line and a remedy', () => {
  const CASES: readonly [what: string, text: string, says: readonly (string | RegExp)[]][] = [
    ['nothing is wrong', NAME + START + REST, []],
    [
      'a mistyped field, and a second one further down',
      `${NAME}${START}${REST}capabilites: {}\nobservability: { header: {} }\n`,
      [
        '5:1 capabilites: no such setting; did you mean capabilities?',
        '6:18 observability.header: no such setting; did you mean headers?',
      ],
    ],
    [
      'a mistyped way to start is told once',
      `${NAME}start: { comand: [x] }\n${REST}`,
      ['2:10 start.comand: no such setting; did you mean command?'],
    ],
    ['an image without a port', `${NAME}start: { image: x }\n${REST}`, ['2:8 start.port: is missing']],
    [
      'no address',
      `${NAME}start: { url: 127.0.0.1 }\n${REST}`,
      ['2:15 start.url: expected an address such as http://127.0.0.1:8080'],
    ],
    [
      'something in a list',
      `${NAME}${START}${REST}setup:\n  - { path: /a }\n  - { pth: /b }\n`,
      ['7:7 setup.1.pth: no such setting; did you mean path?'],
    ],
    [
      'a provider that the mock does not play',
      `${NAME}${START}providers: { opnai: {} }\nmodels: { call: m }\n`,
      ['3:14 providers.opnai: there is no provider "opnai"; did you mean openai?'],
    ],
    [
      'a model at a provider that the file does not name',
      `${NAME}${START}providers: { openai: {}, groq: {} }\nmodels: { direct: [{ id: a, provider: grok, model: m }] }\n`,
      ['4:39 models.direct.0.provider: there is no provider "grok"; did you mean groq?'],
    ],
    ['required fields', NAME, [/start: is missing/, /providers: is missing/, /models: is missing/]],
    ['no YAML', 'name: [a\nb: c', [/^2:\d file: /]],
    ['nothing', '', [/^1:1 file: is empty/]],
    ['a list', '- a\n', [/has no fields/]],
    ['a field twice', `${NAME}${NAME}${START}${REST}`, [/^2:1 name: appears twice; the first is on line 1/]],
  ]
  for (const [what, text, says] of CASES)
    test(what, () => {
      const lines = said(text)
      assert.equal(lines.length, says.length, lines.join('\n'))
      for (const [n, each] of says.entries())
        if (typeof each === 'string') assert.equal(lines[n], each)
        else assert.match(lines[n]!, each)
    })
})

test('a mistake in an extended target file is reported at its place in that file', () => {
  const base = write(`${NAME}${START}${REST}instances: many\n`)
  const file = write(`extends: ${base}\nsealed: 1\n`)
  assert.throws(() => readTarget(file), {
    message: `${file}:2:9 sealed: must be true or false, not 1\n${base}:5:12 instances: must be a number, not text`,
  })
})

test('the target files that come with the package are valid', () => {
  const files = readdirSync(ownTargets).filter((name) => name.endsWith('.yaml'))
  assert.ok(files.length >= 10)
  for (const name of files) assert.ok(readTarget(join(ownTargets, name)).name)
})

test('the JSON Schema describes every field used by the target files in the package', () => {
  const schema = JSON.parse(readFileSync(new URL('../../docs/target.schema.json', import.meta.url), 'utf8'))
  assert.deepEqual(schema, JSON.parse(JSON.stringify(targetJsonSchema())))
  for (const field of ['extends', 'start', 'observability', 'capabilities', 'setup'])
    assert.ok(schema.properties[field].description, field)
})
