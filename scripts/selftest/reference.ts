// `npm run selftest -- reference`: tests the reference gateway against the whole contract: in process, as a
// command, by its address, behind hooks that change nothing, and as an image. `npm run selftest -- repeat N`
// repeats this on a busy machine to find flaky checks.
//   npm run selftest -- reference [--times N] [--busy] [--profile P] [--only ID…] [--quick] [--keep DIR]
//                                 [inproc|source|command|image|url|control …]
// `command` needs a build, `source` does not, `image` needs an engine with the image. `--keep DIR` stores the
// evidence of each run below DIR, for `waybill judge`. Exit 1 if a check failed, or had different outcomes in
// two runs of one kind.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { PROFILES } from '../../conformance/checks/requirements.ts'
import { type Conformed, type ConformOptions, conform } from '../../conformance/runner/run.ts'
import { reservePort } from '../../conformance/target/local.ts'
import { valuesOf } from '../../conformance/target/mock.ts'
import { ownTargets, readTarget } from '../../conformance/target/read.ts'
import { type Started, start } from '../../conformance/target/start.ts'
import { onlyOption } from './results.ts'

/** Environment variable that passes the key to a gateway that is tested by its address. */
const KEY = 'WAYBILL_CONFORM_KEY'

const target = (name: string) => readTarget(join(ownTargets, `${name}.yaml`))
type Way = (options: Omit<ConformOptions, 'target'>) => Promise<Conformed>
const WAYS: Readonly<Record<string, Way>> = {
  inproc: (options) => conform({ ...options, target: target('waybill.inproc') }),
  source: (options) => conform({ ...options, target: target('waybill.source') }),
  command: (options) => conform({ ...options, target: target('waybill') }),
  image: (options) => conform({ ...options, target: target('waybill.image') }),
  control: (options) =>
    conform({
      ...options,
      target: { ...target('waybill.inproc'), start: { inproc: 'selftest/start#control' } },
    }),
  url: (options) => conformByUrl({ ...options, target: target('waybill.inproc') }),
}
/** Kinds of runs in which every check applies, because the suite can reach all parts of the gateway. */
const WHOLE = ['source', 'command', 'image']

const { values, positionals } = parseArgs({
  options: {
    times: { type: 'string', default: '1' },
    busy: { type: 'boolean', default: false },
    profile: { type: 'string', default: 'waybill' },
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    keep: { type: 'string' },
  },
  allowPositionals: true,
})
const only = onlyOption('selftest reference', values.only)
const profile = PROFILES.find((each) => each === values.profile)
const ways = positionals.length > 0 ? positionals : ['inproc', 'command', 'url', 'control']
const times = Number(values.times)
if (!profile || !(times > 0) || !ways.every((way) => Object.hasOwn(WAYS, way))) {
  process.stderr.write(
    `usage: [--times N] [--busy] [--profile ${PROFILES.join('|')}] [--only ID…] [--quick] [--keep DIR] [${Object.keys(WAYS).join('|')} …]\n`,
  )
  process.exit(2)
}

// Endless loops, one for each processor, which keep the machine busy.
const turns = Array.from({ length: values.busy ? availableParallelism() : 0 }, () => {
  const worker = new Worker('for (;;) Math.random()', { eval: true })
  worker.unref()
  return worker
})
const failures = new Map<string, string[]>()
/** Outcomes so far by kind of run and check. */
const outcomes = new Map<string, Set<string>>()
for (let n = 1; n <= times; n++)
  for (const way of ways) {
    const { results } = await WAYS[way]!({
      profile,
      quick: values.quick,
      ...(only && { only }),
      ...(values.keep !== undefined && { directory: join(values.keep, `${n}-${way}-${profile}`) }),
    })
    const { conclusion, reason, counts, duration, inferences, verdicts } = results
    process.stdout.write(
      `${n}/${times} ${way}: ${conclusion}: ${reason}; ${counts.pass} pass, ${counts['not-applicable']} not applicable; ${inferences.total} inferences; ${(duration / 1000).toFixed(1)} s\n`,
    )
    const fine = ['pass', 'disabled', ...(WHOLE.includes(way) ? [] : ['not-applicable'])]
    for (const { id, outcome } of verdicts)
      outcomes.set(`${way} ${id}`, new Set([...(outcomes.get(`${way} ${id}`) ?? []), outcome]))
    for (const { id, outcome, reason } of verdicts)
      if (!fine.includes(outcome))
        failures.set(id, [...(failures.get(id) ?? []), `${outcome}, ${way}, run ${n}: ${reason}`])
  }
await Promise.all(turns.map((worker) => worker.terminate()))

for (const [id, all] of failures) {
  process.stdout.write(`${id} failed ${all.length} of ${times * ways.length} times\n`)
  for (const each of all) process.stdout.write(`    ${each}\n`)
}
const differing = [...outcomes].filter(([, all]) => all.size > 1)
for (const [which, all] of differing) process.stdout.write(`${which} differs: ${[...all].join(', ')}\n`)
process.stdout.write(
  failures.size === 0 ? `no failure in ${times * ways.length} runs\n` : `${failures.size} checks failed\n`,
)
process.exit(failures.size + differing.length > 0 ? 1 : 0)

/** Runs `conform` on a target that is started here; passes only its address. */
async function conformByUrl({ target, ...options }: ConformOptions): Promise<Conformed> {
  const { port, release } = await reservePort()
  const fixed = JSON.parse(JSON.stringify(target).replaceAll('{{port}}', String(port)))
  // The reference's short time-outs belong to a variant.
  const { time_outs: _, ...capabilities } = target.capabilities
  let gateway: Started | null = null
  try {
    return await conform({
      ...options,
      target: {
        ...target,
        start: { url: `http://127.0.0.1:${port}` },
        instances: 1,
        key_env: KEY,
        env: {},
        files: {},
        capabilities,
        variants: {},
      },
      async onMock(mock) {
        gateway = await start(fixed, { values: valuesOf(mock), variant: null })
        process.env[KEY] = gateway.running.keys.client!
      },
    })
  } finally {
    await (gateway as Started | null)?.dispose()
    await release()
  }
}
