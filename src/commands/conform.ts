// `waybill conform TARGET` and `waybill judge DIR`: the conformance suite for a person at a terminal. The two
// commands share their exit codes and closing messages.

import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import {
  PROFILES,
  type Profile,
  readProfile,
  readRequirements,
  withoutDialect,
} from '../../conformance/checks/requirements.ts'
import { type DialectName, TESTED_DIALECTS } from '../../conformance/dialects/dialect.ts'
import {
  type Baseline,
  BaselineError,
  type Comparison,
  compare,
  compareWithBaseline,
  comparisonText,
  readBaseline,
} from '../../conformance/judge/compare.ts'
import type { Results } from '../../conformance/judge/judge.ts'
import {
  EvidenceError,
  isSubmission,
  pack,
  problemsOf,
  rejudge,
  SUBMISSION,
  SubmissionError,
} from '../../conformance/judge/rejudge.ts'
import { manyLines, resultsTable } from '../../conformance/judge/text.ts'
import { clearReports, writeReports } from '../../conformance/judge/write.ts'
import { inTime, type TimeLeft, timeLeft } from '../../conformance/runner/eta.ts'
import { conform as run, SUITE, spendingOf } from '../../conformance/runner/run.ts'
import { installVersion, packagesOf, registryOf, scratchDirectory } from '../../conformance/target/install.ts'
import { StartError } from '../../conformance/target/instance.ts'
import { bareServer, bareTarget, ownTargets, readTarget, TargetError } from '../../conformance/target/read.ts'
import type { Target } from '../../conformance/target/schema.ts'
import type { MockProviders } from '../../mocks/server/create.ts'
import { fileReason } from '../terminal/file-error.ts'
import { type MockAddress, withMock, written } from './mock-options.ts'
import { complain as complainLine, UsageError } from './output.ts'

/** Exit codes. `program.ts` describes their meanings. */
const CONFORMANT = 0
const NOT_CONFORMANT = 1
const USAGE = 2
const NOT_RUN = 3
const STALE = 4

interface ConformCommand extends MockAddress {
  readonly target: string
  readonly install?: boolean
  readonly profile: string
  readonly set?: string
  readonly live?: boolean
  readonly stress?: boolean
  readonly dialects?: readonly string[]
  readonly window?: string
  readonly only?: readonly string[]
  readonly quick?: boolean
  readonly report?: string
  readonly baseline?: string
  readonly compare?: string
  readonly model?: string
  readonly keyEnv?: string
  readonly mockPort?: string
  readonly timeLimit?: string
}

/** Runs the suite. Returns the exit code. */
export async function conformCommand(options: ConformCommand): Promise<number> {
  try {
    const profile = profileOf(options.profile)
    const set = setOf(options.set)
    const target = withMock(targetOf(options, profile), options)
    const baseline = options.baseline === undefined ? [] : readBaseline(options.baseline)
    const timeLimit = minutesIn(options.timeLimit)
    const earlier = options.compare === undefined ? null : rejudge(options.compare).results
    checkIds(options.only ?? [])
    const { live = false, stress = false } = options
    if (readProfile(profile).live) {
      await announce(target, profile, options)
      if (!live) return NOT_RUN
    }
    if (options.report !== undefined) prepare(options.report)
    endOnSignal()
    if (!(await installs(target, options))) return NOT_RUN
    const {
      results,
      run: file,
      evidence,
    } = await run({
      target,
      profile,
      set,
      live,
      stress,
      ...(options.only && { only: options.only }),
      ...(options.quick && { quick: true }),
      ...(timeLimit !== undefined && { timeLimit }),
      reproduce: reproduce(options),
      ...(options.report !== undefined && { directory: options.report }),
      onMock:
        isUrl(options.target) && !readProfile(profile).live
          ? (mock) => explainSetup(mock, options.target)
          : () => {},
      ...progress(options.quick ?? false, earlier),
    })
    const comparison = earlier && compare(earlier, results)
    if (options.report !== undefined)
      writeReports(options.report, { results, run: file, evidence }, comparison)
    return conclude(results, baseline, comparison, options.report)
  } catch (thrown) {
    return reportError(thrown)
  }
}

/** Judges the results of an earlier run. Returns the exit code. */
export function judgeCommand(
  directory: string,
  options: { report?: string; baseline?: string; compare?: string; pack?: string },
): number {
  try {
    const kept = rejudge(directory)
    const submitted = isSubmission(directory)
    if (submitted) {
      const problems = problemsOf(directory, kept.results, today())
      if (problems.length > 0)
        throw new SubmissionError([...problems, `${directory} is refused as a submission`].join('\n'))
    }
    if (options.pack !== undefined) {
      const next = pack(options.pack, kept) ? 'fill in' : 'the run is new, so check the version in'
      process.stdout.write(`Written to ${options.pack}; ${next} ${SUBMISSION} there.\n`)
    }
    const comparison =
      options.compare === undefined ? null : compare(rejudge(options.compare).results, kept.results)
    if (options.report !== undefined) writeReports(options.report, kept, comparison)
    const baseline = options.baseline === undefined ? [] : readBaseline(options.baseline)
    const code = conclude(kept.results, baseline, comparison, options.report)
    if (submitted)
      process.stdout.write('Accepted as a submission: its evidence confirms each of its verdicts.\n')
    return code
  } catch (thrown) {
    return reportError(thrown)
  }
}

const today = (): string => new Date().toISOString().slice(0, 10)

function conclude(
  results: Results,
  baseline: Baseline,
  comparison: Comparison | null,
  report: string | undefined,
): number {
  const { failed, known, stale } = compareWithBaseline(results, baseline, today())
  process.stdout.write(
    resultsTable(results, {
      color: process.stdout.isTTY === true && !process.env.NO_COLOR,
      columns: process.stdout.columns ?? 100,
    }),
  )
  if (comparison)
    process.stdout.write(`Since the run of ${comparison.earlier.started_at}: ${comparisonText(comparison)}\n`)
  if (known.length > 0) process.stdout.write(`Known and excused by the baseline: ${known.join(', ')}\n`)
  if (report !== undefined) process.stdout.write(`Report: ${join(report, 'index.html')}\n`)
  if (results.conclusion === 'error') return NOT_RUN
  if (failed.length > 0) return NOT_CONFORMANT
  if (stale.length === 0) return CONFORMANT
  process.stderr.write(
    `waybill: the baseline is stale: ${stale.join(', ')} now hold or are past their date; remove them\n`,
  )
  return STALE
}

export function reportError(thrown: unknown): number {
  const { message, stack } = thrown as Error
  const usage =
    thrown instanceof TargetError ||
    thrown instanceof BaselineError ||
    thrown instanceof EvidenceError ||
    thrown instanceof SubmissionError ||
    thrown instanceof UsageError
  const known = usage || thrown instanceof StartError
  clearLine()
  for (const line of manyLines(known ? message : `the suite failed: ${stack}`).split('\n')) complainLine(line)
  return usage ? USAGE : NOT_RUN
}

/** Shuts down cleanly on a signal, so that the target ends too. */
export function endOnSignal(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      clearLine()
      process.stderr.write(
        `waybill: ${signal}: the run was aborted, and everything it had started was stopped\n`,
      )
      process.exit(128 + constants.signals[signal])
    })
}

const isUrl = (text: string): boolean => /^https?:\/\//.test(text)

export function profileOf(name: string): Profile {
  const profile = PROFILES.find((each) => each === name)
  if (!profile) throw new UsageError(`--profile must be one of ${PROFILES.join(', ')}`)
  return profile
}

/** Announces the maximum number of calls of a run without a mock, before sending any. */
async function announce(
  target: Target,
  profile: Profile,
  { only, live, stress = false }: ConformCommand,
): Promise<void> {
  const { calls, output_tokens, input_bytes } = await spendingOf({
    target,
    profile,
    stress,
    ...(only && { only }),
  })
  const number = (value: number) => value.toLocaleString('en-US')
  process.stdout.write(
    `Profile ${profile} makes real calls: at most ${number(calls)} to ${target.name}, for at most ${number(output_tokens)} tokens of output and ${number(input_bytes)} bytes of requests, about ${number(Math.ceil(input_bytes / 4))} tokens.\n${live ? '' : 'Nothing was sent. Repeat with --live to make them.\n'}`,
  )
}

/** Returns the set of requirements that decides the verdict. */
function setOf(name = SUITE): string {
  const [major] = /^[1-9]\d*(?=\.0$)/.exec(name) ?? []
  if (major === undefined || Number(major) > Number.parseInt(SUITE, 10))
    throw new UsageError(`--set must be a frozen set from 1.0 to ${SUITE}`)
  return name
}

/** Returns milliseconds. */
function minutesIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const minutes = Number(text)
  if (!(minutes > 0 && minutes <= 24 * 60))
    throw new UsageError('--time-limit must be a number of minutes, up to 1440')
  return minutes * 60_000
}

function checkIds(ids: readonly string[]): void {
  const known = new Set(readRequirements().requirements.map(({ id }) => id))
  const unknown = ids.filter((id) => !known.has(withoutDialect(id)))
  if (unknown.length > 0) throw new UsageError(`--only: no such requirement: ${unknown.join(', ')}`)
}

function prepare(directory: string): void {
  try {
    clearReports(directory)
  } catch (cause) {
    throw new UsageError(`--report ${directory}: ${fileReason(cause)}`)
  }
}

const NAMED_IN_FILE: Readonly<Record<string, string>> = {
  '--model': 'models',
  '--key-env': 'key',
  '--mock-port': 'port',
  '--dialects': 'dialects',
  '--window': 'window',
}

/** Reads a file, a file of the package by its name, or a URL. */
function targetOf(
  { target, model, keyEnv, mockPort, dialects, window }: ConformCommand,
  profile: Profile,
): Target {
  const { live } = readProfile(profile)
  if (isUrl(target)) {
    if (model === undefined)
      throw new UsageError(
        `an address needs --model ID: a model that the ${live ? 'server answers for' : 'gateway sends to the mock'}`,
      )
    const port = mockPort === undefined ? undefined : Number(mockPort)
    if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535))
      throw new UsageError('--mock-port must be a number from 0 to 65535')
    if (!URL.canParse(target)) throw new UsageError(`${target} is not an address`)
    if (live)
      return bareServer(target, model, {
        dialects: dialectsIn(dialects),
        ...(keyEnv && { keyEnv }),
        ...(window !== undefined && { window: tokensIn(window) }),
      })
    return bareTarget(target, model, {
      ...(keyEnv && { keyEnv }),
      ...(port !== undefined && { mockPort: port }),
    })
  }
  const lone = Object.entries({
    '--dialects': dialects,
    '--window': window,
    '--model': model,
    '--key-env': keyEnv,
    '--mock-port': mockPort,
  })
  for (const [option, value] of lone)
    if (value !== undefined)
      throw new UsageError(
        `${option} is for an address; ${target} is a target file, which names its ${NAMED_IN_FILE[option]}`,
      )
  const { file, version } = namedIn(target)
  const read = readTarget(file)
  return version === null ? read : { ...read, version }
}

/** Returns the file of a target: the path of a file, or the name of a file of the package. Null if there is none. */
function fileOf(name: string): string | null {
  const own = join(ownTargets, `${name}.yaml`)
  return [name, own].find((file) => existsSync(file)) ?? null
}

/** Splits `FILE@VERSION`. A file whose own name has an @ comes first. */
function namedIn(target: string): { readonly file: string; readonly version: string | null } {
  const at = target.lastIndexOf('@')
  const file = fileOf(target) ?? (at > 0 ? fileOf(target.slice(0, at)) : null)
  if (file === null || file === fileOf(target)) return { file: file ?? target, version: null }
  const version = target.slice(at + 1)
  if (!/^\d[\w.+-]*$/.test(version))
    throw new UsageError(`${target}: after the @ belongs a version that begins with a digit, such as 1.15.2`)
  return { file, version }
}

/** Installs the version in `FILE@VERSION`, if --install allows it. Returns false if it does not. */
async function installs(target: Target, { target: name, install }: ConformCommand): Promise<boolean> {
  const version = isUrl(name) ? null : namedIn(name).version
  if (version === null) {
    if (install) throw new UsageError('--install needs a version: NAME@VERSION, such as portkey@1.15.2')
    return true
  }
  if (target.install === undefined)
    throw new UsageError(
      `${name}: its target file names no packages (\`install\`); install this version yourself, and leave out @${version}`,
    )
  const packages = packagesOf(target.install, version).join(' ')
  if (!install) {
    process.stdout.write(
      `${name}: installs ${packages} from ${registryOf(target.install)} in a scratch directory, and runs it on this machine.\nNothing was installed. Repeat with --install to allow it.\n`,
    )
    return false
  }
  const directory = scratchDirectory()
  process.stdout.write(
    `Installing ${packages} from ${registryOf(target.install)} in ${directory}, which is removed at the end …\n`,
  )
  await installVersion(target.install, version, directory)
  return true
}

function dialectsIn(names: readonly string[] = ['chat']): readonly DialectName[] {
  const unknown = names.filter((name) => !TESTED_DIALECTS.some((each) => each === name))
  if (unknown.length > 0)
    throw new UsageError(
      `--dialects: there is no ${unknown.join(', ')}; there are ${TESTED_DIALECTS.join(', ')}`,
    )
  return names as readonly DialectName[]
}

function tokensIn(text: string): number {
  const tokens = Number(text)
  if (!(Number.isInteger(tokens) && tokens > 0 && tokens <= 2_000_000))
    throw new UsageError('--window must be a number of tokens, up to 2000000')
  return tokens
}

/** Prints the settings for a gateway that is already running, and waits for the user to apply them. */
export async function explainSetup(mock: MockProviders, url: string): Promise<void> {
  process.stdout.write(
    `The mock is listening. Configure ${url} with an OpenAI-compatible provider:\n  base URL  ${mock.baseUrl('openai')}\n  API key   ${mock.key('openai')}\n`,
  )
  if (!process.stdin.isTTY) return
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  await terminal.question('and press Enter. ')
  terminal.close()
}

/** Clears the line that lists the running checks. */
function clearLine(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
}

/** Prints the expected duration and, on a terminal, the running checks and the remaining time. */
function progress(
  quick: boolean,
  earlier: Results | null,
): Required<Pick<Parameters<typeof run>[0], 'onPlan' | 'onCheck'>> {
  let ticking: NodeJS.Timeout | undefined
  const names = new Map<string, string>()
  const terminal = process.stderr.isTTY
  let estimate: TimeLeft | null = null
  let total = 0
  let done = 0
  const show = () => {
    const line = `${done} of ${total} checks, ${inTime(estimate?.left() ?? 0)} left: ${[...names.values()].join(', ')} …`
    clearLine()
    process.stderr.write(line.slice(0, (process.stderr.columns ?? 80) - 1))
  }
  return {
    onPlan(requirements, atOnce, pace) {
      const ids = requirements.map(({ id }) => id)
      total = ids.length
      estimate = timeLeft(ids, atOnce, { quick, pace, earlier, now: Date.now })
      const idle = ids.includes('PURE-02') && !quick ? '; PURE-02 alone watches a minute of idle time' : ''
      process.stderr.write(
        `${total} ${total === 1 ? 'check' : 'checks'}, ${inTime(estimate.left())}${idle}\n`,
      )
      if (terminal) ticking = setInterval(show, 1_000).unref()
    },
    onCheck({ id, slug }, evidence) {
      if (evidence === null) {
        names.set(id, `${id} ${slug}`)
        estimate?.begun(id)
      } else {
        names.delete(id)
        estimate?.ended(id)
        done++
      }
      if (terminal) show()
      if (done < total) return
      clearInterval(ticking)
      clearLine()
    },
  }
}

const reproduce = ({
  target,
  install,
  profile,
  set,
  live,
  stress,
  dialects,
  window,
  only,
  quick,
  model,
  keyEnv,
  mockPort,
  timeLimit,
  ...mock
}: ConformCommand): string =>
  [
    'waybill conform',
    target,
    install && '--install',
    `--profile ${profile}`,
    set && `--set ${set}`,
    live && '--live',
    stress && '--stress',
    dialects && `--dialects ${dialects.join(' ')}`,
    window && `--window ${window}`,
    only && `--only ${only.join(' ')}`,
    quick && '--quick',
    model && `--model ${model}`,
    keyEnv && `--key-env ${keyEnv}`,
    mockPort && `--mock-port ${mockPort}`,
    timeLimit && `--time-limit ${timeLimit}`,
    ...written(mock),
  ]
    .filter(Boolean)
    .join(' ')
