// LINE-01, 02, 03, 06 and 07 as a table. Each row runs in both variants, the bundled program and the sh
// script, as a process with a real gateway. Over 250 lines, because it is a table.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { answer, fail } from '../../mocks/test-upstream.ts'
import { type TestGateway, testGateway } from '../test/test-gateway.ts'
import { judgeIdle, sample } from '../test/test-size.ts'
import {
  assertSound,
  bare,
  commands,
  type Feed,
  patiently,
  recorded,
  run,
  session,
  surroundings,
  VARIANTS,
  type Variant,
  WENT,
} from './test-statusline.ts'

interface Row {
  readonly name: string
  /** The client's object, or other data for stdin. */
  readonly input: object | string | Feed
  readonly shows: RegExp | Readonly<Record<Variant, RegExp>>
  readonly env?: Record<string, string>
  readonly args?: readonly string[]
}

const FORECAST = /^auto → ~alpha\/model-a · priority$/
const bytewise: Feed = (stdin) => {
  const bytes = Buffer.from(JSON.stringify(session('main')))
  const timer = setInterval(() => {
    const at = bytes.length - left--
    if (left < 0) clearInterval(timer)
    else stdin.write(bytes.subarray(at, at + 1))
  }, 1)
  let left = bytes.length
}
const open =
  (text: string): Feed =>
  (stdin) =>
    void stdin.write(text)

const WELL: readonly Row[] = [
  // LINE-01
  { name: 'LINE-01 a whole object', input: session('main'), shows: WENT },
  { name: 'LINE-01 stdin stays open', input: open(JSON.stringify(session('main'))), shows: WENT },
  { name: 'LINE-01 stdin in single bytes, open', input: bytewise, shows: WENT },
  { name: 'LINE-01 nothing on stdin, open', input: open(''), shows: /^waybill$/ },
  { name: 'LINE-01 nothing on stdin, closed', input: '', shows: /^waybill$/ },
  { name: 'LINE-01 not JSON', input: 'hello', shows: /^waybill$/ },
  { name: 'LINE-01 not JSON, open', input: open('hello\n'), shows: /^waybill$/ },
  { name: 'LINE-01 an array', input: '[]', shows: /^waybill$/ },
  { name: 'LINE-01 half an object', input: '{"session_id":"ma', shows: /^waybill$/ },
  { name: 'LINE-01 half an object, open', input: open('{"session_id":'), shows: /^waybill$/ },
  { name: 'LINE-01 2 MB of blanks', input: ' '.repeat(2_000_000), shows: /^waybill$/ },
  { name: 'LINE-01 2 MB that never end', input: open(`{"a":"${'x'.repeat(2_000_000)}`), shows: /^waybill$/ },
  { name: 'LINE-01 2 MB of braces', input: open('{'.repeat(2_000_000)), shows: /^waybill$/ },
  {
    name: 'LINE-01 a second object behind the first',
    input: open(JSON.stringify(session('main')) + JSON.stringify(session('failed'))),
    shows: WENT,
  },
  { name: 'LINE-01 over several lines', input: JSON.stringify(session('main'), null, 2), shows: WENT },
  {
    name: 'LINE-01 braces and quotes inside of strings',
    input: session('main', undefined, { session_name: 'a } b { c "session_id":"failed" \\' }),
    shows: WENT,
  },
  // LINE-02
  { name: 'LINE-02 an empty object', input: {}, shows: /^waybill$/ },
  { name: 'LINE-02 no session', input: { model: { id: 'auto' } }, shows: FORECAST },
  { name: 'LINE-02 session null', input: session(null), shows: FORECAST },
  { name: 'LINE-02 session a number', input: session(7), shows: FORECAST },
  { name: 'LINE-02 session an object', input: session({}), shows: FORECAST },
  { name: 'LINE-02 session empty', input: session(''), shows: FORECAST },
  { name: 'LINE-02 no model', input: { session_id: 'main' }, shows: /^background → alpha\/model-a/ },
  { name: 'LINE-02 model null', input: session('one', null), shows: WENT },
  { name: 'LINE-02 model a number', input: session('one', 3), shows: WENT },
  { name: 'LINE-02 model a string', input: session('main', 'auto'), shows: WENT },
  { name: 'LINE-02 model an empty object', input: session('one', {}), shows: WENT },
  { name: 'LINE-02 model id null', input: session('one', { id: null }), shows: WENT },
  { name: 'LINE-02 model id a number', input: session('one', { id: 1 }), shows: WENT },
  {
    name: 'LINE-02 display name null',
    input: session('main', { id: 'auto', display_name: null }),
    shows: WENT,
  },
  {
    name: 'LINE-02 only a display name, and no session',
    input: { model: { display_name: 'Auto' } },
    shows: /^Auto$/,
  },
  {
    name: 'LINE-02 everything else of another type',
    input: session('main', undefined, { workspace: 1, context_window: [], cost: null, cwd: {} }),
    shows: WENT,
  },
  // LINE-03
  {
    name: 'LINE-03 two sessions at once: the other one',
    input: session('other'),
    shows: /^auto → alpha\/model-a/,
  },
  { name: 'LINE-03 before the first call', input: session('new'), shows: FORECAST },
  {
    name: 'LINE-03 the mark of the client behind the model',
    input: session('main', { id: 'auto[1m]' }),
    shows: WENT,
  },
  {
    name: 'LINE-03 the mark was in the request too',
    input: session('marked', { id: 'alpha/m[1m]' }),
    shows: /^alpha\/m\[1m\] .*· direct/,
  },
  { name: 'LINE-03 only a subagent called', input: session('agents'), shows: FORECAST },
  { name: 'LINE-03 only a background call', input: session('titles'), shows: FORECAST },
  {
    name: 'LINE-03 the newest call failed',
    input: session('failed', { id: 'broken' }),
    shows: /^broken → ⚠ beta\/bad-b · e500 · priority/,
  },
  {
    name: 'LINE-03 another one answered',
    input: session('fell', { id: 'half' }),
    shows: /^half → beta\/model-b · ↷ alpha failed · priority/,
  },
  {
    name: 'LINE-03 a direct id needs no arrow',
    input: session('direct', { id: 'alpha/model-a' }),
    shows: /^alpha\/model-a · direct/,
  },
  { name: 'LINE-03 a session that is resumed', input: session('main'), shows: WENT },
  // LINE-05
  {
    name: 'LINE-05 an unknown model',
    input: session('main', { id: 'nowhere', display_name: 'Nowhere' }),
    shows: /^(Nowhere|nowhere) · the gateway does not know this model$/,
  },
  {
    name: 'LINE-03 a model that only the default of its dialect knows',
    input: session('new', { id: 'claude-unknown' }),
    shows: /^claude-unknown → ~alpha\/model-a · priority$/,
  },
  {
    name: 'LINE-05 an address that is none',
    input: session('main'),
    env: { WAYBILL_URL: 'nonsense' },
    shows: /^Auto/,
  },
  // LINE-06
  ...([0, 1, 2, 10, 20, 40, 80, 120, 200] as const).map((columns) => ({
    name: `LINE-06 ${columns} columns`,
    input: session('main'),
    env: { COLUMNS: String(columns) },
    shows: columns === 0 || columns > 40 ? WENT : columns < 20 ? /…$/ : /alpha\/model-a/,
  })),
  // Claude Code draws 4 cells less than COLUMNS, so that a part that does not fit is left out, not cut.
  ...([0, 1, 5, 40, 44, 45, 46, 80, 200] as const).map((columns) => ({
    name: `LINE-06 ${columns} columns of Claude Code`,
    input: session('main'),
    env: { COLUMNS: String(columns), CLAUDECODE: '1' },
    shows:
      columns === 0 || columns > 50
        ? WENT
        : columns < 20
          ? /^(…|au?…)$/
          : /^auto → alpha\/model-a( · priority( · .+ m?s)?)?$/,
  })),
  {
    name: 'LINE-06 wide characters, 20 columns',
    input: session('wide', { id: 'alpha/模型模型模型模型模型' }),
    env: { COLUMNS: '20' },
    shows: /^alpha\/模型模型模型…$/,
  },
  { name: 'LINE-06 columns that are none', input: session('main'), env: { COLUMNS: 'many' }, shows: WENT },
  { name: 'LINE-06 columns below zero', input: session('main'), env: { COLUMNS: '-5' }, shows: WENT },
  {
    name: 'LINE-06 columns with zeros before',
    input: session('main'),
    env: { COLUMNS: '0080' },
    shows: WENT,
  },
  {
    name: 'LINE-06 columns of Claude Code with zeros before',
    input: session('main'),
    env: { COLUMNS: '0080', CLAUDECODE: '1' },
    shows: WENT,
  },
  // LINE-07
  {
    name: 'LINE-07 marks of direction in a model',
    input: session('hostile', null),
    shows: /^alpha\/redmoc\.live · direct/,
  },
  {
    name: 'LINE-07 escape sequences in the label',
    input: { model: { display_name: '\u001b[31mAuto\u202e\u009b2J' } },
    shows: { program: /^\[31mAuto2J$/, sh: /^waybill$/ },
  },
  { name: 'LINE-07 NO_COLOR', input: session('main'), env: { NO_COLOR: '1' }, shows: WENT },
  { name: 'LINE-07 TERM=dumb', input: session('main'), env: { TERM: 'dumb' }, shows: WENT },
  // Options
  {
    name: 'segments are chosen and ordered',
    input: session('main'),
    args: ['--segments', 'strategy,route'],
    shows: /^priority · auto → alpha\/model-a$/,
  },
  {
    name: 'one segment for another tool',
    input: session('main'),
    args: ['--segment', 'route'],
    shows: /^auto → alpha\/model-a$/,
  },
]

test('the status line of a healthy gateway is complete (LINE-01, LINE-02, LINE-03, LINE-06, LINE-07)', async (t) => {
  const gateway = await seeded(t)
  const variants = await commands(t)
  const spent = gateway.received()
  for (const variant of VARIANTS)
    for (const { name, input, shows, env = {}, args = [] } of sample(WELL, 4))
      await t.test(`${variant} variant: ${name}`, async () => {
        const expected = 'test' in shows ? shows : shows[variant]
        const ran = await patiently(
          () =>
            run(
              [...variants[variant], ...args],
              surroundings(t, { WAYBILL_URL: gateway.url, ...env }),
              feed(input),
            ),
          ({ stdout }) => expected.test(bare(stdout).trimEnd()),
        )
        assertSound(ran, env)
        assert.match(bare(ran.stdout).trimEnd(), expected, ran.stderr)
        judgeIdle(t, 'ms', ran.took, 1_500)
      })
  assert.equal(gateway.received(), spent, 'LINE-04: no inference')
})

/** Makes calls of every kind, in sessions named after them. */
async function seeded(t: TestContext): Promise<TestGateway> {
  const gateway = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: `defaults: { messages: auto }
routes:
  auto: { targets: [ { model: alpha/model-a } ] }
  background: { targets: [ { model: alpha/model-a } ] }
  half: { targets: [ { model: alpha/half-a }, { model: beta/model-b } ] }
  broken: { targets: [ { model: alpha/bad-a }, { model: beta/bad-b } ] }`,
  })
  const call = (id: string, model: string, more = {}) =>
    recorded(gateway, model, { 'x-claude-code-session-id': id, ...more })
  const agent = { 'x-claude-code-agent-id': 'agent-1' }
  await call('main', 'auto')
  await call('main', 'alpha/subagent-model', agent)
  await call('main', 'auto', { ...agent, 'x-other': '1' })
  await call('main', 'background')
  await recorded(gateway, 'auto', { 'x-claude-code-session-id': 'main' }, { user: 'title' })
  await call('one', 'auto')
  await call('other', 'auto')
  await call('marked', 'alpha/m[1m]')
  await call('agents', 'auto', agent)
  await call('titles', 'background')
  await recorded(gateway, 'auto', { 'x-claude-code-session-id': 'titles' }, {})
  await call('direct', 'alpha/model-a')
  await call('wide', 'alpha/模型模型模型模型模型')
  await call('hostile', 'alpha/red\u202emoc\u2066.live')
  gateway.upstream.alpha!.script = fail(500)
  await call('fell', 'half')
  gateway.upstream.beta!.script = fail(500)
  await call('failed', 'auto')
  await call('failed', 'broken')
  return gateway
}

const feed = (input: Row['input']): Feed | string =>
  typeof input === 'object' ? JSON.stringify(input) : input
