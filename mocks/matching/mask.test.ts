import assert from 'node:assert/strict'
import test from 'node:test'
import { processorMs } from '../../src/test/test-processor-time.ts'
import { IS_FULL } from '../../src/test/test-size.ts'
import { createVolatileMask, suspectIn } from './mask.ts'

const NOW = Date.parse('2026-11-23T14:03:22Z')

const cases: [text: string, masked: string][] = [
  ['Today is 2026-11-23.', 'Today is <date>.'],
  ['Today is Monday, November 23, 2026.', 'Today is <date>.'],
  ['on 23 Nov 2026 and 11/23/2026 and 23.11.2026', 'on <date> and <date> and <date>'],
  ['at 2026-11-23T14:03:22.123Z', 'at <date>'],
  ['Mon Nov 23 2026 14:03:22 GMT+0000 (Coordinated Universal Time)', '<date>'],
  ['clocks elsewhere: 2026-11-24', 'clocks elsewhere: <date>'],
  ['The treaty of 2024-05-01 stays.', 'The treaty of 2024-05-01 stays.'],
  ['in the year 2026', 'in the year 2026'],
  ['1795442602 and 1795442602123', '<time> and <time>'],
  ['1234567890 is a number', '1234567890 is a number'],
  ['a 11111111-2222-4333-8444-555555555555 b 66666666-7777-4888-8999-000000000000', 'a <id 1> b <id 2>'],
  ['call_a1b2c3d4e5 and again call_a1b2c3d4e5', '<id 1> and again <id 1>'],
  ['commit 0123456789abcdef0123456789abcdef01234567', 'commit <id 1>'],
  ['the tool_definitions of call_weather', 'the tool_definitions of call_weather'],
  ['see /home/ann/app/src/main.ts', 'see <folder>/main.ts'],
  ['in /tmp/run-8161', 'in <folder>'],
  ['cwd /srv/a/b, file /srv/a/b/c.ts', 'cwd <folder>, file <folder>/c.ts'],
  [String.raw`open C:\Users\Ann\app\main.ts`, 'open <folder>/main.ts'],
  ['and/or 1/2 a/b/c', 'and/or 1/2 a/b/c'],
  ['https://example.com/a/b/c', 'https://example.com/a/b/c'],
  [
    'x-anthropic-billing-header: cc_version=2.1.117.48f; cc_entrypoint=cli; cch=71fea;',
    'x-anthropic-billing-header: <billing>',
  ],
  ['http://127.0.0.1:43121/v1', 'http://127.0.0.1:<port>/v1'],
]
for (const [text, masked] of cases)
  test(`the volatile parts of this text are masked: ${text}`, () => {
    assert.equal(createVolatileMask(NOW)(text), masked)
  })

test('unmasked values that could change are reported, but ordinary text is not', () => {
  assert.equal(suspectIn('It is 14:03.'), '14:03')
  assert.equal(suspectIn('on 2024-05-01'), '2024-05-01')
  assert.equal(suspectIn('order 123456789'), '123456789')
  assert.equal(suspectIn('What is the capital of France?'), null)
})

const LENGTH = IS_FULL ? 2 ** 21 : 2 ** 19

test('masking takes a time that is bounded by the length, for any large text', () => {
  for (const piece of [
    'a',
    'a1',
    'A1b2',
    '/a',
    '/a/b',
    '\\',
    '1/',
    'call_',
    '12:34 ',
    'aB3-',
    '2026-11-2',
    'é',
  ]) {
    const text = piece.repeat(Math.ceil(LENGTH / piece.length))
    const began = processorMs()
    createVolatileMask(NOW)(text)
    suspectIn(text)
    const ms = processorMs() - began
    assert.ok(ms < LENGTH / 400, `${JSON.stringify(piece)}: ${ms} ms`)
  }
})

test('measured times are masked in tool results, but not elsewhere', () => {
  const mask = createVolatileMask(Date.parse('2026-11-25'))
  for (const [text, masked] of [
    ['duration_ms: 855</usage>', 'duration_ms: <duration></usage>'],
    ['Wall time: 0.0512 seconds', 'Wall time: <duration> seconds'],
    ['{"elapsed_ms":12.5,"n":3}', '{"elapsed_ms":<duration>,"n":3}'],
    ['ok (took 12 ms)', 'ok (took <duration> ms)'],
    [
      'total 20\ndrwxr-xr-x 3 me me 4096 Nov  5 20:21 .\n-rw-r--r-- 1 me me 12 Nov 25 20:21 a.txt',
      'total <size>\ndrwxr-xr-x <size> <time> .\n-rw-r--r-- 12 <time> a.txt',
    ],
    ['Chunk ID: 82b391\n{"task_id":"b3x"}', 'Chunk ID: <id>\n{"task_id":"<id>"}'],
    ['Original token count: 9', 'Original token count: <size>'],
    ['12 passed in 0.34s', '12 passed in <duration>s'],
    ['took 3 apples', 'took 3 apples'],
  ] as const) {
    assert.equal(mask(text, true), masked)
    assert.equal(mask(text), text)
  }
})

test('a measured time in a tag is masked everywhere', () => {
  const mask = createVolatileMask(0)
  const report = '<usage><tool_uses>2</tool_uses><duration_ms>317</duration_ms></usage>'
  assert.equal(mask(report), report.replace('317', '<duration>'))
  assert.equal(mask('<duration_ms>soon</duration_ms>'), '<duration_ms>soon</duration_ms>')
})

test("the program's folder is masked, both as a path and as part of an id", () => {
  const mask = createVolatileMask(0, [], ['/srv/builds/job-7', '/root'])
  assert.equal(
    mask('cwd: /srv/builds/job-7\n~/.agent/projects/-srv-builds-job-7/memory'),
    'cwd: <folder>\n<folder>/projects<folder>/memory',
  )
  assert.equal(mask('/srv/builds/job-71'), '<folder>/job-71')
  assert.equal(mask('HOME=/root, not /rooted'), 'HOME=<folder>, not /rooted')
})

test('a path in an XML tag is masked like other paths', () => {
  const mask = createVolatileMask(0)
  assert.equal(mask('<path>/srv/one/a.txt</path>'), '<path><folder>/a.txt</path>')
  assert.equal(mask('<br/>/srv/one/a.txt'), '<br/><folder>/a.txt')
})
