// `npm run bench -- status-line --url URL [--runs 60] [--beside 'NAME=COMMAND' …]`: measures the
// whole-process time of the status line in comparison with an empty program of the runtime and other tools,
// in turns with one payload (LINE-09).
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '../..')
const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:4949' },
    session: { type: 'string', default: 'timing' },
    runs: { type: 'string', default: '60' },
    beside: { type: 'string', multiple: true, default: [] },
  },
})
const runs = Number(values.runs)
const directory = mkdtempSync(join(tmpdir(), 'waybill-timing-'))
const nothing = join(directory, 'empty.cjs')
writeFileSync(nothing, '')

const commands: [string, string[]][] = [
  ['empty program', [process.execPath, nothing]],
  ['waybill statusline', [process.execPath, join(ROOT, 'dist/statusline.cjs')]],
  ['waybill statusline, sh', ['/bin/sh', join(ROOT, 'src/statusline/statusline.sh')]],
  ['curl alone', ['curl', '-q', '-s', '-m', '0.15', `${values.url}/healthz`]],
  ...values.beside.map((each): [string, string[]] => {
    const [name, ...command] = each.split('=')
    return [name!, command.join('=').split(' ')]
  }),
]
const input = JSON.stringify({
  session_id: values.session,
  transcript_path: join(directory, 'transcript.jsonl'),
  cwd: ROOT,
  model: { id: 'auto', display_name: 'Auto' },
  workspace: { current_dir: ROOT, project_dir: ROOT, added_dirs: [] },
  version: '2.1.260',
  output_style: { name: 'default' },
  cost: { total_cost_usd: 0.01, total_duration_ms: 45_000, total_api_duration_ms: 2_300 },
  context_window: { used_percentage: 8, remaining_percentage: 92, context_window_size: 200_000 },
  exceeds_200k_tokens: false,
})
const env = { ...process.env, COLUMNS: '120', WAYBILL_URL: values.url }
const times = commands.map((): number[] => [])
for (let run = -3; run < runs; run++)
  commands.forEach(([, [file, ...args]], index) => {
    const began = performance.now()
    spawnSync(file!, args, { input, env })
    if (run >= 0) times[index]!.push(performance.now() - began)
  })
rmSync(directory, { recursive: true, force: true })

const at = (sorted: readonly number[], share: number) => sorted[Math.floor(share * (sorted.length - 1))]!
const sorted = times.map((each) => each.toSorted((a, b) => a - b))
const floor = at(sorted[0]!, 0.5)
console.log(`${runs} runs each, in turns\n`)
console.log('| program | median ms | p10–p90 ms | ratio of the medians |\n|---|---|---|---|')
commands.forEach(([name], index) => {
  const [p10, p50, p90] = [0.1, 0.5, 0.9].map((share) => at(sorted[index]!, share))
  const spread = `${p10!.toFixed(1)}–${p90!.toFixed(1)}`
  console.log(`| ${name} | ${p50!.toFixed(1)} | ${spread} | ${(p50! / floor).toFixed(2)} |`)
})
