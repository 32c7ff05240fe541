// Formats rounds as tables for the terminal and docs/benchmarks.md. Measures nothing itself. Each figure is
// the median over the rounds with minimum and maximum; ratios are computed within each round.
import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus } from 'node:os'
import { BODY, quantile, type Round, type StreamRound } from './measure.ts'
import type { BenchTarget } from './targets.ts'

/** Size of the database on disk, and its number of calls. */
export interface Disk {
  readonly bytes: number
  readonly calls: number
}

/** Numbers of calls by the part that recorded them, as in the metrics. */
export interface Openings {
  here: number
  locked: number
  together: number
}

/** Rounds of one kind of call. Calls in `messages` are translated for a chat provider. */
export interface Load {
  readonly kind: 'chat' | 'messages'
  readonly connections: number
  /** Rounds by the target's name. */
  readonly rounds: Map<string, Round[]>
  readonly openings: Openings
}

interface BenchResults {
  readonly targets: readonly BenchTarget[]
  readonly load: readonly Load[]
  readonly streams: ReadonlyMap<string, StreamRound[]>
  readonly disk: Disk
  /** Resident memory of Waybill before the first call, MiB. */
  readonly idle: number | null
  readonly sizes: {
    readonly rounds: number
    readonly seconds: number
    readonly events: number
    readonly gap: number
    readonly flood: number
  }
}

/** Returns Markdown that is also readable as plain text. */
export function report({ targets, load, streams, disk, idle, sizes }: BenchResults): string {
  const own = ['direct', 'bare proxy', 'waybill']
  const others = targets.map(({ name }) => name).filter((name) => !own.includes(name))
  const parts = [
    conclusions(load, others, idle),
    `${new Date().toISOString().slice(0, 10)}, commit ${commit()}, Node ${process.versions.node}, ` +
      `${availableParallelism()} cores (${cpus()[0]?.model.trim() || 'unnamed'}), ` +
      `${sizes.rounds} rounds of ${sizes.seconds} s per target and number of connections.`,
    targets.map(({ name, about }) => `- **${name}**: ${about}`).join('\n'),
    ...complaints(load),
    `### Whole answers (${(BODY.length / 1000).toFixed(1)} kB in, 1 kB out)`,
    table(
      ['calls', 'target', 'requests/s', 'p50 ms', 'p99 ms', 'main thread µs/call', 'process µs/call', 'MiB'],
      load.flatMap((each) =>
        [...each.rounds].map(([name, list]) => [
          nameOf(each),
          name,
          spread(list, ({ perSecond }) => perSecond, 0),
          spread(list, ({ p50 }) => p50, 2),
          spread(list, ({ p99 }) => p99, 2),
          spread(list, ({ main }) => main ?? Number.NaN, 0),
          spread(list, ({ all }) => all ?? Number.NaN, 0),
          spread(list, ({ resident }) => resident ?? Number.NaN, 0),
        ]),
      ),
    ),
    'Waybill as a multiple of the others, round by round:',
    table(
      ['calls', 'requests/s: bare proxy', ...others, 'p99: bare proxy', 'main thread: bare proxy'],
      load.map(({ rounds, ...each }) => [
        nameOf(each),
        ...['bare proxy', ...others].map((name) => ratio(rounds, ({ perSecond }) => perSecond, name)),
        ratio(rounds, ({ p99 }) => p99, 'bare proxy'),
        ratio(rounds, ({ main }) => main ?? Number.NaN, 'bare proxy'),
      ]),
    ),
    'The bare proxy does not translate: its messages go to the provider as messages.',
    'The table counts the calls by the thread that recorded them: the main thread; the writer thread, because another connection was writing; the writer thread, because several calls came in one turn of the event loop or it had a batch.',
    table(
      ['calls', 'main thread', 'lock taken', 'together'],
      load.map((each) => [nameOf(each), ...sharesOf(each.openings)]),
    ),
    idle === null ? '' : `Waybill has ${Math.round(idle)} MiB resident before the first call.`,
    `### Streams (first event: short streams; each event: ${sizes.events} events, ${sizes.gap} ms apart; flat out: ${sizes.flood} events at once)`,
    table(
      [
        'target',
        'first event µs',
        'added to first event',
        'each event p50 µs',
        'added to p50',
        'p99 µs',
        'added to p99',
        'flat out events/s',
      ],
      [...streams].map(([name, list]) => [
        name,
        ...(['firstEvent', 'p50', 'p99'] as const).flatMap((figure) => [
          spread(list, (round) => round[figure], 0),
          name === 'direct'
            ? ''
            : spread(list, (round, at) => round[figure] - streams.get('direct')![at]![figure], 0),
        ]),
        spread(list, ({ flatOut }) => flatOut, 0),
      ]),
    ),
    `Waybill's first event comes ${spread(streams.get('waybill')!, (round, at) => round.firstEvent - streams.get('bare proxy')![at]!.firstEvent, 0)} µs after the bare proxy's.`,
    `### The record\n\n${Math.round(disk.bytes / disk.calls)} bytes per call on disk (database and write-ahead log after the end; ${disk.calls} calls on record).`,
  ]
  return parts.join('\n\n')
}

const nameOf = ({ kind, connections }: Pick<Load, 'kind' | 'connections'>): string =>
  `${kind === 'chat' ? 'chat' : 'messages → chat'}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`

const sharesOf = ({ here, locked, together }: Openings): string[] =>
  [here, locked, together].map(
    (count) => `${((100 * count) / (here + locked + together)).toFixed(2)} % (${count})`,
  )

/** Returns the conclusions from the figures as sentences. */
function conclusions(load: readonly Load[], others: readonly string[], idle: number | null): string {
  const [one, many] = load
  const median = (rounds: Load['rounds'], name: string, figure: keyof Round) =>
    quantile(
      rounds.get(name)!.map((round) => round[figure] ?? Number.NaN),
      0.5,
    )
  const added = median(one!.rounds, 'waybill', 'p50') - median(one!.rounds, 'direct', 'p50')
  const sentences = [
    `On this machine, a call through Waybill takes ${added.toFixed(2)} ms longer than a call to the provider itself, and ${Math.round(median(many!.rounds, 'waybill', 'all'))} µs of processor time under load; a model takes seconds.`,
    `With its record on it answers ${ratio(many!.rounds, ({ perSecond }) => perSecond, 'bare proxy')} of the calls per second of a proxy that only forwards, at 32 connections.`,
    ...load
      .slice(1)
      .flatMap(({ kind, rounds }) =>
        others
          .filter((name) => rounds.has(name))
          .map(
            (name) =>
              `It answers ${ratio(rounds, ({ perSecond }) => perSecond, name)} × the calls per second of ${name} on ${kind === 'chat' ? 'chat' : 'messages for a provider of chat'}.`,
          ),
      ),
    idle === null
      ? ''
      : `It needs ${Math.round(idle)} MiB before the first call and ${Math.round(median(many!.rounds, 'waybill', 'resident'))} MiB under load.`,
  ]
  return sentences.filter(Boolean).join('\n')
}

/** Returns warnings about invalid figures, which are printed before the figures. */
function complaints(load: BenchResults['load']): string[] {
  return load.flatMap(({ rounds, ...each }) =>
    [...rounds].flatMap(([name, list]) => {
      const bad = list.reduce((sum, { badStatus }) => sum + badStatus, 0)
      const lost = list.reduce((sum, { socketErrors }) => sum + socketErrors, 0)
      return bad + lost === 0
        ? []
        : [`**WORTHLESS: ${name} (${nameOf(each)}) gave ${bad} error answers and ${lost} socket errors.**`]
    }),
  )
}

/** Computes the ratio within each round, so that a slow phase of the machine affects both sides. */
function ratio(
  rounds: ReadonlyMap<string, Round[]>,
  figure: (round: Round) => number,
  theirs: string,
): string {
  const others = rounds.get(theirs)
  return others ? spread(rounds.get('waybill')!, (round, at) => figure(round) / figure(others[at]!), 2) : '-'
}

/** Formats `median (min–max)`. */
function spread<Item>(
  list: readonly Item[],
  figure: (item: Item, index: number) => number,
  digits: number,
): string {
  const numbers = list.map(figure)
  const [median, min, max] = [quantile(numbers, 0.5), Math.min(...numbers), Math.max(...numbers)]
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]!.length)))
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
  } catch {
    return 'unknown'
  }
}
