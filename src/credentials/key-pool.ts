// Several keys for one provider. A session stays with its key, because its prompt cache and sealed reasoning
// may belong to the key's account; it moves only if that key cannot be used. Limits are read from the headers
// of every answer, so that a key is left alone before the provider refuses it.
import { createKeySearch } from '../shared/redact.ts'
import {
  type Answered,
  type Credential,
  CredentialError,
  type Credentials,
  type CredentialUse,
} from './credentials.ts'
import type { KeySource } from './key-source.ts'
import type { PoolKey, PoolState, Rest } from './pool-key.ts'

export interface PoolOptions {
  readonly provider: string
  readonly sources: ReadonlyMap<string, KeySource>
  readonly state: PoolState
  /** Called with each key as it is read, so that it can be masked. */
  readonly learn: (secret: string) => void
  readonly now: () => number
}

interface Member {
  readonly standing: PoolKey
  readonly source: KeySource
  search: { readonly key: string; readonly holds: (bytes: Buffer) => boolean } | null
}

interface Choice {
  readonly member: Member
  /** True if the session had another key. */
  readonly moved: boolean
  /** Number of the request at the key. */
  readonly n: number
}

export function keyPool({ provider, sources, state, learn, now }: PoolOptions): Credentials {
  const members = new Map<string, Member>(
    [...sources].map(([name, source]) => [name, { standing: state.key(name), source, search: null }]),
  )
  /** Number of the last choice, for turns among equal keys. */
  let turn = 0

  /** Returns the key for an attempt, and whether its session had another. Throws if none can be used. */
  const choose = ({ session, tried }: CredentialUse): Choice => {
    const before = session === null ? undefined : state.sessions.get(session)
    const at = now()
    const usable = [...members.values()].filter(
      ({ standing }) => !tried.has(standing.name) && standing.readyAt(at) <= at,
    )
    const own = usable.find(({ standing }) => standing.name === before)
    if (own) return { member: own, moved: false, n: own.standing.send() }
    const [first] = usable
    if (!first) throw exhausted(provider, earliest() - at)
    const from = turn++ % usable.length
    const member = [...usable.slice(from), ...usable.slice(0, from)].reduce((best, each) =>
      compare(each.standing, best.standing, at) > 0 ? each : best,
    )
    return { member, moved: before !== undefined && members.has(before), n: member.standing.send() }
  }
  const earliest = () => Math.min(...[...members.values()].map(({ standing }) => standing.readyAt(now())))

  const credential = (choice: Choice, key: string, use: CredentialUse): Credential => {
    const { member, moved, n } = choice
    const { standing, source } = member
    if (member.search?.key !== key) {
      member.search = { key, holds: createKeySearch(key) }
      learn(key)
    }
    if (use.session !== null) state.sessions.set(use.session, standing.name)
    return {
      key,
      name: standing.name,
      moved,
      settled(answer) {
        const at = now()
        standing.answered(n, answer?.headers ?? null, at)
        const reason = answer && restFor(answer)
        if (!reason) return null
        // A key that was renewed may be right again at once.
        if (reason === 'denied') source.refused()
        standing.rest(reason, answer.retryAfterMs, at)
        const isAnother = [...members.values()].some(
          (each) => each !== member && !use.tried.has(each.standing.name) && each.standing.readyAt(at) <= at,
        )
        return isAnother ? 'another' : { waitMs: Math.max(earliest() - at, 0) }
      },
    }
  }

  const take = (use: CredentialUse): Credential | Promise<Credential> => {
    const choice = choose(use)
    try {
      const key = choice.member.source.get()
      if (typeof key === 'string') return credential(choice, key, use)
      return key.then(
        (key) => credential(choice, key, use),
        (error) => withoutKey(choice, error, use),
      )
    } catch (error) {
      return withoutKey(choice, error, use)
    }
  }
  /** Takes another key if one cannot be read. */
  const withoutKey = ({ member: { standing }, n }: Choice, error: unknown, use: CredentialUse) => {
    if (!(error instanceof CredentialError)) throw error
    const at = now()
    standing.answered(n, null, at)
    standing.rest('limit', null, at)
    const isReady = [...members.values()].some((each) => each.standing.readyAt(at) <= at)
    if (!isReady) throw error
    return take(use)
  }

  return {
    areCallers: false,
    take,
    holdsSecret: (bytes) => [...members.values()].some(({ search }) => search?.holds(bytes)),
  }
}

/** Returns more than 0 if `a` is to be preferred: with more room, then with fewer open requests. */
function compare(a: PoolKey, b: PoolKey, now: number): number {
  const [roomA, roomB] = [a.room(now), b.room(now)]
  return roomA === roomB ? b.open - a.open : roomA - roomB
}

/** Codes of a 429 for money that is used up, which no waiting helps. */
const SPENT = /^(insufficient_quota|billing_hard_limit_reached|billing_error|credit_balance_too_low)$/

/** Returns why a key has to rest after an answer; null if it need not. */
function restFor({ status, code }: Answered): Rest | null {
  if (status === 402 || (code !== null && SPENT.test(code))) return 'spent'
  if (status === 401 || status === 403) return 'denied'
  return status === 429 ? 'limit' : null
}

function exhausted(provider: string, waitMs: number): CredentialError {
  const seconds = Math.max(Math.ceil(waitMs / 1_000), 1)
  return new CredentialError(`${provider}: none of its keys can be used before ${seconds} s are over`, waitMs)
}
