// No command silently accepts a name that does not exist, and each reason is printed only once.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'

const CONFIG =
  'routes: { code: { targets: [ { model: alpha/model-a } ] }, auto: { targets: [ { model: alpha/model-a } ] } }'

const WRONG: readonly (readonly [string, RegExp])[] = [
  ['start', /^waybill: unknown command 'start'; did you mean serve\?\n$/],
  ['srve', /^waybill: unknown command 'srve'; did you mean serve\?\n$/],
  ['bogus', /^waybill: unknown command 'bogus'; see `waybill --help`\n$/],
  ['version', /^waybill: unknown command 'version'; did you mean --version\?\n$/],
  ['provider tset', /^waybill: unknown command 'tset'; did you mean test\?\n$/],
  ['logs --folow', /^waybill: unknown option '--folow'; did you mean --follow\?\n$/],
  ['serve --replay --port abc', /'abc' is invalid\. A port is a number from 0 to 65535\./],
  ['serve --replay --port 70000', /'70000' is invalid/],
  ['record --provider openai --port abc', /'abc' is invalid/],
  ['statusline isntall', /statusline has no command "isntall"; did you mean install\?/],
  ['statusline zebra', /statusline has no command "zebra"; there are: install, uninstall, doctor/],
  ['conform nosuch.yaml', /^waybill: nosuch\.yaml: no such file/],
  ['target check nosuch.yaml', /^waybill: nosuch\.yaml: no such file/],
  [
    'conform portkey --model gpt-5',
    /--model is for an address; portkey is a target file, which names its models/,
  ],
  ['conform portkey --key-env KEY --quick', /--key-env is for an address/],
  ['conform portkey --baseline nosuch.yaml', /^waybill: nosuch\.yaml: no such file$/m],
  ['judge nosuch', /^waybill: nosuch\/run\.json: no such file; name a directory/],
  ['config check -c .', /^waybill: \.: is a directory, not a file; write one/],
  [
    'recordings import a.yaml --out out --provider opanai',
    /--provider: there is no "opanai"; did you mean openai\?/,
  ],
  [
    'run --url URL --model nosuch -- claude',
    /the gateway has no route or model "nosuch"; there are: code, auto/,
  ],
  ['run --url URL --model cdoe -- codex', /no route or model "cdoe"; did you mean code\?/],
  ['run --url URL --model auto -- my-program', /my-program is none of them/],
  [
    'logs --url URL --route nosuch',
    /the gateway has no route "nosuch", and no call on record went by it; there are: code, auto/,
  ],
  ['logs --url URL --route atuo --json', /no route "atuo"[^\n]*; did you mean auto\?/],
]

test('an unknown name causes a one-line error with advice, and exit code 2', async (t) => {
  const { url } = await testGateway(t, { config: CONFIG })
  const cwd = temporaryDirectory(t)
  for (const [line, says] of sample(WRONG, 4)) {
    const { code, stdout, stderr } = await runCli(line.replace('URL', url).split(' '), { cwd })
    const said = stderr.replace(/^waybill: there is no waybill\.yaml, so .*\n/, '')
    assert.match(said, says, line)
    assert.equal(code, 2, line)
    assert.equal(said.split('\n').length, 2, `${line}: ${said}`)
    assert.equal(stdout, '', line)
    assert.doesNotMatch(said, /E[A-Z]{4,}/, line)
  }
})

test('a model that only a default provider accepts can be used, and the output reports where its calls go', async (t) => {
  const { url } = await testGateway(t, { config: `${CONFIG}\ndefaults: { messages: code }` })
  const run = (...words: string[]) => runCli(['run', '--url', url, ...words])
  const directory = temporaryDirectory(t)
  mkdirSync(join(directory, 'bin'))
  const claude = join(directory, 'bin', 'claude')
  writeFileSync(claude, '#!/bin/sh\necho "model $ANTHROPIC_MODEL"\n', { mode: 0o755 })
  const byDefault = await run('--model', 'claude-opus-9', '--', claude)
  assert.deepEqual([byDefault.code, byDefault.stdout], [0, 'model claude-opus-9\n'])
  assert.match(
    byDefault.stderr,
    /the gateway knows no "claude-opus-9", so its calls go by the default to code\n/,
  )
  const known = await run('--model', 'alpha/another', '--', claude)
  assert.deepEqual([known.code, known.stdout], [0, 'model alpha/another\n'], 'a provider takes any model')
  assert.doesNotMatch(known.stderr, /knows no/)
})

test('if a list is empty, the command prints that nothing matched', async (t) => {
  const { url } = await testGateway(t, { config: CONFIG })
  for (const [filter, says] of [
    [['--route', 'auto'], /^waybill: no call on record matches\n$/],
    [['--session', 'x', '--json'], /^waybill: no call on record matches\n$/],
    [['--provider', 'alhpa'], /^waybill: no call on record matches; for --provider, did you mean alpha\?\n$/],
    [['--model', 'model-b'], /^waybill: no call on record matches; for --model, did you mean model-a\?\n$/],
    [[], /^waybill: there are no calls on record yet\n$/],
  ] as const) {
    const { code, stderr } = await runCli(['logs', '--url', url, ...filter])
    assert.equal(code, 0)
    assert.match(stderr, says)
  }
})
