// `npm run selftest -- must-pass`: checks that the conformance suite does not fail gateways that are unusual
// but correct. Runs all gateways, several at a time, and writes docs/selftest/must-pass.json. NAME… runs only
// these gateways and writes nothing (with --update, their rows); --check runs all and writes nothing;
// --sample N runs N of them (see results.ts) and writes nothing. Exit code 1 if the suite wrongly fails a
// gateway, even if the gateway passes in a second run alone. Only a check that was inconclusive may pass in
// the second run.
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fileOf, mustPass } from '../../conformance/selftest/registry.ts'
import { type MustPassResult, tryMustPass } from '../../conformance/selftest/run.ts'
import {
  type MustPassResults,
  onlyOption,
  readMustPass,
  type Sample,
  sample,
  writeMustPass,
} from './results.ts'

/** Number of processes, with one gateway each. They mostly wait for windows, cool-downs and gates. */
const AT_ONCE = 3
const PROCESSES = Math.max(2, availableParallelism())

const { values, positionals } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    sample: { type: 'string' },
    only: { type: 'string', multiple: true },
    update: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const only = onlyOption('selftest must-pass', values.only)
const unknown = positionals.filter((name) => !mustPass.has(name))
if (unknown.length > 0) {
  process.stderr.write(
    `selftest: there is no must-pass gateway ${unknown.join(', ')} in conformance/selftest/must-pass/\n`,
  )
  process.exit(2)
}
const began = performance.now()
const drawn = values.sample === undefined ? null : sampled(Number(values.sample))
const queue = [...(positionals.length > 0 ? positionals : (drawn?.names ?? mustPass.keys()))]
if (drawn) process.stdout.write(`${drawn.about}\n`)
const count = queue.length
const results: MustPassResult[] = []
await Promise.all(Array.from({ length: Math.min(PROCESSES, count) }, work))

function sampled(size: number): Sample {
  return sample([...mustPass.keys()], size, (name, changed) => changed.has(`conformance/${fileOf(name)}`))
}

/** Gives gateways to one process until none is left. */
function work(): Promise<void> {
  const worker = fork(join(import.meta.dirname, 'must-pass-worker.ts'), { serialization: 'advanced' })
  let open = 0
  const next = () => {
    const name = queue.shift()
    if (name !== undefined) open++
    if (name !== undefined) worker.send({ name, only })
    else if (open === 0 && worker.connected) worker.disconnect()
  }
  worker.on('message', (result: MustPassResult) => {
    open--
    say(result)
    next()
  })
  for (let n = 0; n < AT_ONCE; n++) next()
  return new Promise((resolve, reject) => {
    worker.on('exit', (code) =>
      open === 0 ? resolve() : reject(new Error(`selftest: a process ended with exit code ${code}`)),
    )
  })
}

function say(result: MustPassResult): void {
  results.push(result)
  const said = [...result.wronglyFailed].map(([id, what]) => `\n    ${id} ${what}`).join('')
  process.stdout.write(
    `${results.length}/${count} ${said ? 'FAILED ' : 'passed '} ${result.name} (${(result.duration / 1000).toFixed(1)} s, ${result.outcomes.size} requirements)${said}\n`,
  )
}

// Concurrent gateways slow each other down. A gateway that passes only alone is also reported, because a
// check that fails on a busy machine would fail other correct gateways.
const onlyAlone: string[] = []
for (const { name } of results.filter((each) => each.wronglyFailed.size > 0)) {
  const alone = await tryMustPass(name, only)
  if (alone.wronglyFailed.size === 0) onlyAlone.push(name)
  process.stdout.write(
    `again, alone: ${name} ${alone.wronglyFailed.size > 0 ? 'FAILED ' : 'passed, so that only a busy machine fails it'}\n`,
  )
}
const wronglyFailed = results.filter((each) => each.wronglyFailed.size > 0)
const seconds = ((performance.now() - began) / 1000).toFixed(0)
if (positionals.length === 0 && !values.check && !only && !drawn) writeMustPass(toResults())
else if (values.update) {
  const { whole_run, gateways } = readMustPass()
  writeMustPass({ whole_run, gateways: { ...gateways, ...toResults().gateways } })
}
process.stdout.write(
  `${count} must-pass gateways in ${seconds} s; wrongly failed: ${wronglyFailed.map(({ name }) => name).join(', ') || 'none'}${onlyAlone.length > 0 ? `; of these only on a busy machine: ${onlyAlone.join(', ')}` : ''}\n`,
)
const isAccused = ({ name, wronglyFailed }: MustPassResult) =>
  !onlyAlone.includes(name) || [...wronglyFailed.values()].some((said) => !said.startsWith('untestable: '))
process.exit(wronglyFailed.some(isAccused) ? 1 : 0)

function toResults(): MustPassResults {
  const judged = results.flatMap(({ outcomes }) =>
    [...outcomes.values()].filter((each) => each !== 'not-applicable'),
  )
  return {
    whole_run: {
      date: new Date().toISOString().slice(0, 10),
      seconds: Number(seconds),
      at_once: PROCESSES * AT_ONCE,
      verdicts: judged.length,
    },
    gateways: Object.fromEntries(
      results.map(({ name, outcomes, wronglyFailed }) => {
        const ids = (outcome: string) =>
          [...outcomes].filter(([, each]) => each === outcome).map(([id]) => id)
        const warned = ids('warn').filter((id) => !wronglyFailed.has(id))
        return [name, { passed: ids('pass').length, warned, failed: Object.fromEntries(wronglyFailed) }]
      }),
    ),
  }
}
