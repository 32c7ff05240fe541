// Draws docs/status-line.svg: the rendered line on a light and on a dark background.

import { DEFAULT_SEGMENTS } from '../../src/statusline/flags.ts'
import { renderLine, type View } from '../../src/statusline/line.ts'
import { factsOf } from '../../src/statusline/lookup.ts'
import { cells } from '../../src/terminal/width.ts'

const RECORD = {
  id: 'x',
  requested_model: 'auto',
  resolved_provider: 'groq',
  resolved_model: 'openai/gpt-oss-120b',
  strategy: 'round-robin',
  state: 'completed',
  latency_ms: 812,
  cost_usd: 0.0004,
}
const view = (more: object, rest: Partial<View> = {}): View => ({
  label: 'auto',
  facts: factsOf({ ...RECORD, ...more }),
  age: null,
  note: null,
  contextUsed: null,
  place: null,
  ...rest,
})
const EXAMPLES: [string, View][] = [
  ['where the last call went', view({})],
  ['another one answered', view({ fallbacks: 1, picked_provider: 'openai', latency_ms: 1930 })],
  ['before the first call', view({ kind: 'forecast', state: null, latency_ms: null, cost_usd: null })],
  [
    'it failed',
    view({ state: 'failed', error_code: 'upstream_timeout', latency_ms: 60_000, cost_usd: null }),
  ],
  ['the gateway is silent', view({}, { age: 'no gateway, 3 min ago' })],
  ['nothing is known', view({}, { facts: null, note: 'the gateway is not there' })],
]
const [ROW, HALF, LEFT] = [26, 830, 200]
const PAPERS = [
  { back: '#ffffff', ink: '#24292f', faint: '#6e7781' },
  { back: '#0d1117', ink: '#e6edf3', faint: '#8b949e' },
]

const escapeXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Returns the colour of xterm's palette with this number. */
function palette(code: number): string {
  if (code >= 232) return `rgb(${Array(3).fill(8 + (code - 232) * 10)})`
  const steps = [Math.floor((code - 16) / 36), Math.floor((code - 16) / 6) % 6, (code - 16) % 6]
  return `rgb(${steps.map((step) => (step ? 55 + step * 40 : 0))})`
}

/** Converts a line with colour sequences to SVG text spans. */
function spans(line: string, ink: string): string {
  const [first, ...rest] = line.split('\u001b[')
  const painted = rest.map((part) => {
    const [codes = '', text = ''] = part.split(/m(.*)/s)
    const colour = /38;5;(\d+)/.exec(codes)?.[1]
    const weight = codes.startsWith('1') ? ' font-weight="bold"' : ''
    return `<tspan fill="${colour ? palette(Number(colour)) : ink}"${weight}>${escapeXml(text)}</tspan>`
  })
  return `<tspan fill="${ink}">${escapeXml(first!)}</tspan>${painted.join('')}`
}

const height = EXAMPLES.length * ROW + 24
const panels = PAPERS.map(({ back, ink, faint }, panel) => {
  const rows = EXAMPLES.map(([what, shown], row) => {
    const line = renderLine(shown, {
      segments: DEFAULT_SEGMENTS,
      columns: 80,
      theme: 'default',
      link: null,
      cells,
    })
    const y = panel * height + 30 + row * ROW
    return `<text x="16" y="${y}" fill="${faint}" font-family="sans-serif" font-size="12">${what}</text><text x="${LEFT}" y="${y}" xml:space="preserve">${spans(line, ink)}</text>`
  })
  return `<rect y="${panel * height}" width="${HALF}" height="${height}" fill="${back}"/>\n${rows.join('\n')}`
})
export const statusLinePicture =
  (): string => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${HALF} ${height * 2}" width="${HALF}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">
<title>The status line on a light and on a dark background</title>
${panels.join('\n')}
</svg>
`
