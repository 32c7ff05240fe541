// The renderer, which is pure, with every width, every segment and every theme.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanLabel, cut } from '../terminal/clean.ts'
import { cells } from '../terminal/width.ts'
import { SEGMENT_NAMES, type SegmentName, THEME_NAMES, THEMES } from './flags.ts'
import { renderLine, type View } from './line.ts'
import { factsOf } from './lookup.ts'

const record = {
  id: '01a1fd68-9e8c-73d6-b02a-201bb6390c9a',
  requested_model: 'auto',
  resolved_provider: 'groq',
  resolved_model: 'openai/gpt-oss-120b',
  picked_provider: 'openai',
  strategy: 'cheapest',
  state: 'completed',
  fallbacks: 1,
  latency_ms: 812.4,
  ttft_ms: 230,
  tokens: { input: 5200, output: 110 },
  cost_usd: 0.00042,
  cache: 'HIT',
  saved_usd: 0.0012,
  session_cost_usd: 1.254,
}
const view = (more: object = {}, rest: Partial<View> = {}): View => ({
  label: 'Auto',
  facts: factsOf({ ...record, ...more }),
  age: null,
  note: null,
  contextUsed: 41.7,
  place: 'waybill (main)',
  ...rest,
})
const render = (shown: View, columns: number | null, segments: readonly SegmentName[] = SEGMENT_NAMES) =>
  renderLine(shown, { segments, columns, theme: null, link: null, cells })

test('the status line shows its segments in order and drops the least important first (LINE-06)', () => {
  for (const [columns, line] of [
    [
      null,
      'auto → groq/openai/gpt-oss-120b · ↷ openai failed · cheapest · 812 ms · first 230 ms · ↑5.2k ↓110 · $0.00042 · session $1.25 · cache hit, saved $0.0012 · context 42 % · waybill (main)',
    ],
    [100, 'auto → groq/openai/gpt-oss-120b · ↷ openai failed · cheapest · 812 ms · $0.00042 · session $1.25'],
    [80, 'auto → groq/openai/gpt-oss-120b · ↷ openai failed · cheapest · 812 ms · $0.00042'],
    [60, 'auto → groq/openai/gpt-oss-120b · ↷ openai failed · cheapest'],
    [40, 'auto → groq/openai/gpt-oss-120b'],
    [30, 'groq/openai/gpt-oss-120b'],
    [20, 'groq/openai/gpt-oss…'],
    [1, '…'],
  ] as const)
    assert.equal(render(view(), columns), line)
})

test('the status line fits every width from 1 to 200 columns, for any characters in the labels (LINE-06, LINE-07)', () => {
  const labels = [
    'auto',
    '模型',
    '🚀🧑‍🚀',
    'e\u0301a\u0308',
    '\ud800x',
    '\u001b[2J',
    'ｆｕｌｌ',
    '𠀀𠀁𠀂',
    '👩‍👩‍👧‍👦',
    '🇩🇪🇫🇷',
    '1️⃣',
    'x'.repeat(5_000),
  ]
  for (const a of labels)
    for (const b of labels)
      for (const age of [null, '12 s ago'])
        for (let columns = 1; columns <= 200; columns += columns < 60 ? 1 : 20) {
          const shown = view(
            { requested_model: a, resolved_provider: b, resolved_model: `${a}/${b}` },
            { age, label: a },
          )
          for (const each of [shown, { ...shown, facts: null, note: 'the gateway is not there' }]) {
            const line = render(each, columns)
            assert.ok(line.length > 0 && cells(line) <= columns, `${columns}: ${JSON.stringify(line)}`)
            assert.doesNotMatch(line, /[\p{Cc}\p{Cf}\p{Cs}]/u)
          }
        }
})

test('a label loses terminal control codes and keeps its text (LINE-07)', () => {
  for (const [label, safe] of [
    ['gpt-5 · mini', 'gpt-5 · mini'],
    ['\u001b]8;;http://evil\u0007x\u001b]8;;\u0007', ']8;;http://evilx]8;;'],
    ['a\u202eb\u2066c\u200bd\u200ee\ufefff', 'abcdef'],
    ['a\rb\nc\td\u0085e\u2028f\u009bg', 'abcdefg'],
    ['模型🚀', '模型🚀'],
  ] as const)
    assert.equal(cleanLabel(label), safe)
  assert.equal(cut('模型模型', 5, cells), '模型…')
})

test('a forecast, a failure, a running call and a cached line are marked (LINE-03, LINE-05)', () => {
  const quiet = { fallbacks: 0, latency_ms: null, cost_usd: null }
  const short = ['route', 'fallback', 'strategy'] as const
  for (const [shown, line] of [
    [view({ ...quiet, kind: 'forecast', state: null }), 'auto → ~groq/openai/gpt-oss-120b · cheapest'],
    [
      view({ ...quiet, state: 'failed', error_code: 'upstream_timeout' }),
      'auto → ⚠ groq/openai/gpt-oss-120b · upstream_timeout · cheapest',
    ],
    [view({ ...quiet, state: 'interrupted' }), 'auto → ⚠ groq/openai/gpt-oss-120b · interrupted · cheapest'],
    [view({ ...quiet, state: 'aborted' }), 'auto → groq/openai/gpt-oss-120b · cheapest'],
    [view({ ...quiet, state: 'routed' }), 'auto → groq/openai/gpt-oss-120b · cheapest'],
    [view({ ...quiet, requested_model: 'groq/openai/gpt-oss-120b' }), 'groq/openai/gpt-oss-120b · cheapest'],
    [view(quiet, { age: '3 min ago' }), 'auto → groq/openai/gpt-oss-120b · cheapest · 3 min ago'],
    [view({}, { facts: null, note: 'the gateway answered 401' }), 'Auto · the gateway answered 401'],
    [view({}, { facts: null, label: '\u0007 ' }), 'waybill'],
  ] as const)
    assert.equal(render(shown, null, [...short]), line)
})

test('an incomplete cost is marked as a minimum, even if it comes from the cached state (USE-06)', () => {
  const cost = { cost_missing: ['attempt'], session_cost_is_minimum: true }
  const line = 'auto → groq/openai/gpt-oss-120b · ≥ $0.00042 · session ≥ $1.25'
  const once = view(cost)
  const kept = { ...once, facts: factsOf(JSON.parse(JSON.stringify(once.facts))) }
  for (const shown of [once, kept]) assert.equal(render(shown, null, ['route', 'cost', 'session']), line)
})

test('any fact may be missing, null or of the wrong type (LINE-02)', () => {
  for (const field of Object.keys(record))
    for (const value of [undefined, null, 7, -1, '', {}, [], true, Number.NaN]) {
      const facts = factsOf({ ...record, [field]: value })
      const line = render({ ...view(), facts }, null)
      assert.doesNotMatch(line, /null|undefined|NaN|object/)
    }
})

test('colours and a link surround the text and end before the end of the line (LINE-07)', () => {
  const link = 'http://127.0.0.1:4949/api/usage/request-logs/x'
  for (const theme of THEME_NAMES) {
    const line = renderLine(view(), { segments: SEGMENT_NAMES, columns: null, theme, link, cells })
    const [opened, closed] = [
      line.split('\u001b]8;;http').length - 1,
      line.split('\u001b]8;;\u0007').length - 1,
    ]
    assert.deepEqual([opened, closed], [1, 1])
    assert.ok(!line.endsWith('m') || line.endsWith('\u001b[0m'))
  }
})

test('the default theme is readable on light and on dark backgrounds, with a contrast of at least 3', () => {
  const codes = Object.values(THEMES.default).flatMap((code) => /38;5;(\d+)/.exec(code)?.[1] ?? [])
  assert.equal(codes.length, 4)
  for (const code of codes)
    for (const background of ['#ffffff', '#fdf6e3', '#000000', '#1e1e1e', '#282c34']) {
      const [a, b] = [luminance(xterm(Number(code))), luminance(hex(background))]
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
      assert.ok(contrast >= 3, `${code} on ${background}: ${contrast.toFixed(2)}`)
    }
})

const hex = (text: string) => [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16))
const xterm = (code: number): number[] => {
  if (code >= 232) return Array(3).fill(8 + (code - 232) * 10)
  const cube = code - 16
  return [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((step) =>
    step ? 55 + step * 40 : 0,
  )
}
const luminance = (rgb: number[]): number =>
  rgb
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index]!, 0)

test('the line names a target that was left out because it is cooling, unless another one failed (LINE-06)', () => {
  const decision = { cause: 'priority', skipped: [{ target: 'openai/gpt-5', reason: 'cooling' }] }
  const shown = (more: object) => render(view({ decision, ...more }), null, ['route', 'fallback'])
  assert.equal(shown({ fallbacks: 0 }), 'auto → groq/openai/gpt-oss-120b · ↷ openai cooling')
  assert.equal(shown({ fallbacks: 1 }), 'auto → groq/openai/gpt-oss-120b · ↷ openai failed')
  const capability = { cause: 'priority', skipped: [{ target: 'openai/gpt-5', reason: 'vision' }] }
  assert.equal(shown({ fallbacks: 0, decision: capability }), 'auto → groq/openai/gpt-oss-120b')
})
