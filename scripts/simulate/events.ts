// Events of a history, as data, and the dice that make them. An event never depends on what came of earlier ones, so that
// a failing history can be shortened.
import { Dice, type DiskTrouble } from './machine.ts'
import type { Reach } from './network.ts'
import { DEEDS, type Deed, LONG_ANSWER, SPOKEN } from './provider.ts'
import { ASKS, type CallEvent, KEY_NAMES, MANNERS, MODELS } from './setup.ts'

export type Event =
  | CallEvent
  | { readonly kind: 'wait'; readonly ms: number; readonly turns: number }
  | { readonly kind: 'leave' | 'read'; readonly n: number; readonly turns: number }
  | { readonly kind: 'reach'; readonly n: number; readonly how: Reach; readonly turns: number }
  | {
      readonly kind: 'crash'
      /** Points of the disk that are passed before. */
      readonly points: number
      /** Part of the last write that reaches the disk. */
      readonly part: number
      /** Points of the disk that the next gateway passes before it dies, too; 0 if it lives. */
      readonly again: number
      readonly turns: number
    }
  | { readonly kind: 'disk'; readonly how: DiskTrouble | null; readonly turns: number }
  | { readonly kind: 'flood' | 'rotate'; readonly n: number; readonly turns: number }
  | { readonly kind: 'files'; readonly are: 'gone' | 'back'; readonly turns: number }
  | { readonly kind: 'jump'; readonly ms: number; readonly turns: number }
  | { readonly kind: 'reload' | 'restart' | 'backup' | 'restore' | 'settle'; readonly turns: number }

/** Events between two moments at which everything has ended. */
const SETTLE_EVERY = 60

/** Makes the events of a seed. `crashes`: weight of crashes, if the seed does not choose it; calls have 60. */
export function eventsOf(seed: number, steps: number, crashes?: number): Event[] {
  const dice = new Dice(seed)
  // Most histories have few kinds of trouble, so that calls also succeed, and so that one kind meets all others.
  const kinds: Kinds = {
    trouble: dice.pick([0, 0.2, 0.6]),
    asking: dice.pick([0.1, 0.5]),
    crashing: crashes ?? dice.pick([0, 2, 6]),
    deeds: someOf(dice, DEEDS),
    manners: someOf(dice, MANNERS),
  }
  return Array.from({ length: steps }, (_, n) =>
    n % SETTLE_EVERY === SETTLE_EVERY - 1 ? { kind: 'settle', turns: 2 } : eventOf(dice, kinds),
  )
}

/** Kinds of trouble of a history. */
interface Kinds {
  /** Part of the calls in trouble. */
  readonly trouble: number
  /** Part of the calls besides those of the four dialects. */
  readonly asking: number
  readonly crashing: number
  readonly deeds: readonly Deed['how'][]
  readonly manners: readonly CallEvent['client'][]
}

/** Picks all values, or up to four of them. */
const someOf = <Value>(dice: Dice, values: readonly Value[]): readonly Value[] =>
  dice.int(3) === 0 ? values : Array.from({ length: 1 + dice.int(4) }, () => dice.pick(values))

function eventOf(dice: Dice, kinds: Kinds): Event {
  const { trouble, crashing } = kinds
  const weights: readonly (readonly [Event['kind'], number])[] = [
    ...([
      ['call', 60],
      ['wait', 15],
      ['read', 6],
      ['reload', 1],
      ['restart', 0.3],
      ['rotate', 0.5],
    ] as const),
    ...([
      ['leave', 10 * trouble],
      ['reach', 8 * trouble],
      ['disk', 6 * trouble],
      ['jump', 2 * trouble],
      ['files', 4 * trouble],
      ['flood', 4 * trouble],
      ['backup', 2 * trouble],
      ['restore', trouble],
    ] as const),
    ['crash', crashing],
  ]
  const kind = dice.weighted(weights)
  const turns = dice.pick([0, 1, 2 + dice.int(8)])
  return { kind, turns, ...DETAILS[kind]?.(dice, kinds) } as Event
}

const DAY = 86_400_000
const JUMPS = [-DAY / 24, DAY / 24, DAY / 12, 1_000, -DAY, DAY]

/** Half of the calls are in the dialect of their provider, so that they take the plain way. */
function spoken(dice: Dice) {
  const [model, own] = dice.pick(Object.entries(MODELS))
  return { model, dialect: own !== null && dice.int(2) === 0 ? own : dice.pick(SPOKEN) }
}

/** Members of each kind of event. */
const DETAILS: { readonly [Kind in Event['kind']]?: (dice: Dice, kinds: Kinds) => object } = {
  call: (dice, { trouble, asking, deeds, manners }) => {
    const client = dice.number() < trouble ? dice.pick(manners) : 'reads'
    return {
      n: dice.int(1_000),
      key: dice.pick(KEY_NAMES),
      ask: dice.number() < asking ? dice.pick(ASKS) : null,
      ...spoken(dice),
      stream: dice.int(2) === 0,
      size: dice.int(9) === 0 ? dice.int(2_000) : 3,
      client,
      again: dice.int(8) === 0,
      times: dice.int(12) === 0 ? 2 + dice.int(8) : 1,
      deeds: Array.from({ length: 2 }, () => ({
        how: dice.number() < trouble ? dice.pick(deeds) : 'answers',
        // Only a long answer shows that its client does not read.
        n: client === 'stalls' && dice.int(2) === 0 ? LONG_ANSWER : dice.int(1_000),
      })),
    }
  },
  wait: (dice) => ({ ms: dice.int(dice.pick([20, 20, 20, 500, 500, 10_000])) }),
  leave: (dice) => ({ n: dice.int(1_000) }),
  read: (dice) => ({ n: dice.int(1_000) }),
  reach: (dice) => ({ n: dice.int(1_000), how: dice.pick(['up', 'up', 'refuses', 'silent']) }),
  crash: (dice) => ({
    points: dice.int(14),
    part: dice.pick([1, dice.number(), dice.number()]),
    again: dice.pick([0, 0, 0, 1 + dice.int(6)]),
  }),
  disk: (dice) => ({ how: dice.pick([null, 'SQLITE_FULL', 'SQLITE_IOERR', 'no openings']) }),
  flood: (dice) => ({ n: dice.int(1_000) }),
  rotate: (dice) => ({ n: dice.int(1_000) }),
  files: (dice) => ({ are: dice.pick(['gone', 'back']) }),
  jump: (dice) => ({ ms: dice.pick(JUMPS) }),
}
