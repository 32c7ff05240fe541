// `waybill conform --list` and `waybill conform explain` as a user runs them, and a check that no text is
// missing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRequirements } from '../../conformance/checks/requirements.ts'
import { runCli } from '../test/test-cli.ts'

const { requirements } = readRequirements()

const conform = (...args: string[]) => runCli(['conform', ...args])

test('no two explanations have the same text', () => {
  for (const part of ['why', 'test', 'causes'] as const) {
    const texts = requirements.flatMap((each) => each[part] ?? [])
    assert.equal(new Set(texts).size, texts.length, part)
  }
})

test('`--list` prints one line for each requirement: id, level, scope, sentence', async () => {
  const { code, stdout: out, stderr: err } = await conform('--list')
  assert.equal(err, '')
  assert.equal(code, 0)
  const [, ...lines] = out.trimEnd().split('\n')
  assert.equal(lines.length, requirements.length)
  for (const [index, { id, level, scope, text }] of requirements.entries()) {
    const [line, rest] = [lines[index]!, ` +${level}.* {2}${scope} +`]
    assert.match(line, new RegExp(`^${id}${rest}`))
    assert.ok(line.includes(text), line)
  }
})

test('`waybill conform explain` names the part of a requirement that no check covers', async () => {
  const { stdout } = await conform('explain', 'RSP-06')
  assert.match(stdout, /What of it is not tested\n {2}after a restart: /)
})

test('`waybill conform explain` prints the sentence, the reason, the test, the causes and the standard', async () => {
  const { code, stdout: out } = await conform('explain', 'flow-06', 'KEEP-03')
  assert.equal(code, 0)
  const flat = out.replace(/\s+/g, ' ')
  for (const id of ['FLOW-06', 'KEEP-03']) {
    const { text, why, test, causes, links } = requirements.find((each) => each.id === id)!
    for (const said of [text, why!, test!, causes!, ...links]) assert.ok(flat.includes(said), said)
  }
  assert.match(flat, /MUST for every gateway; profiles core, observable, waybill/)
  assert.ok(out.split('\n').every((line) => line.length <= 100 || line.includes('https://')))
})

test('`waybill conform explain` accepts a slug, including one of an earlier version', async () => {
  for (const name of ['reads-cause-no-requests', 'reads-ask-nobody'])
    assert.match((await conform('explain', name)).stdout, /^PURE-03 reads-cause-no-requests\n/)
})

test('`waybill conform explain` says why a requirement has no check', async () => {
  const { stdout: out } = await conform('explain', 'LOG-11')
  assert.match(out, /not tested by this suite/)
  assert.match(out, /cannot be caused from outside/)
})

test('a missing or unknown id is a usage error', async () => {
  for (const [args, says] of [
    [['explain', 'FLOW-99'], /^waybill: no such requirement: FLOW-99; .*--list.*\n$/],
    [['explain'], /missing required argument/],
    [[], /missing required argument 'target'/],
  ] as const) {
    const { code, stdout: out, stderr: err } = await conform(...args)
    assert.match(err, says)
    assert.equal(code, 2)
    assert.equal(out, '')
  }
})
