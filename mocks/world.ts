// The outside world in one place: a request comes in, is judged, written into the ledger, and its answer chosen.
// Both transports (interception and the witness's port) ask here, so that they give the same answers.
import type { Answer } from './answer.ts'
import { choose, noEndpoint, type ProviderRequest, type Stock } from './choose.ts'
import { classify, scenarioIn } from './classify.ts'
import { notesOn, openEntry } from './entry.ts'
import { createGates, type Gates } from './gates.ts'
import { judge, NO_CREDENTIAL, type Verdict } from './judge.ts'
import { type LedgerEntry, nonceIn, type RequestKind } from './ledger.ts'
import { createLedgerBook } from './ledger-book.ts'
import { createMatcher, type MatchInput } from './match.ts'
import { openAiRefusal, openAiWants } from './openai-dialect.ts'
import { othersRecorded } from './openai-like.ts'
import { withOwnId } from './own-id.ts'
import { hostName } from './paths.ts'
import type { Place } from './places.ts'
import { type Arrived, bearer, type Endpoint, endpointOf, type Provider, type Wants } from './provider.ts'
import { providers as standIns } from './providers.ts'
import { ownRecordings, type Recording, readRecordings } from './recording.ts'
import type { Pace } from './replay.ts'
import type { Notes } from './respond.ts'
import { refusalOf } from './scenario.ts'
import { findScenario } from './scenarios.ts'
import { createScripts, type ParsedAnswer, type ScriptedAnswer } from './script.ts'
import { createSecrets } from './secrets.ts'

export interface WorldOptions {
  /** Themselves, or their directory; those that come with the package unless told otherwise. */
  readonly recordings?: readonly Recording[] | string
  readonly pace?: Pace
  /**
   * Whether an answer is made by code where no recording fits. Otherwise it is an error that names the nearest; a
   * scenario that is asked for by its name is played in any case. Unless told otherwise: only without `recordings`,
   * because an answer that was not recorded would let a test pass that should fail.
   */
  readonly invent?: boolean
  /** Provider name -> the key that is right; `any`: every key will do, and none as well. */
  readonly keys?: Readonly<Record<string, string>> | 'any'
  /** Name -> a secret that must not show up at a provider. */
  readonly canaries?: Readonly<Record<string, string>>
}

/** What can be seen and told from outside, the same in a process and over the control port. */
export interface Stage {
  /** What arrived, in its order; with `since` only entries whose `n` is greater. */
  entries(since?: number): LedgerEntry[]
  /** Resolves with the first request that carries the nonce; rejects when none comes within `timeoutMs` (5000). */
  seen(nonce: string, timeoutMs?: number): Promise<LedgerEntry>
  /** How the requests that carry a nonce are answered. Throws when it is no script. */
  script(nonce: string, answers: readonly ScriptedAnswer[]): void
  /** Resolves when no answer is on its way, and everything about those that were is written down. */
  settled(): Promise<void>
  /** Opens a gate; it stays open. */
  release(gate: string): void
  /** Names a secret: entries tell when it arrived, and it is masked wherever something is told. */
  watchFor(name: string, secret: string): void
  /** Forgets entries, scripts, gates and whose turn it is, and lets go what is held. Planted secrets stay planted. */
  clear(): void
}

/** A request as whoever carries it reads it. */
export interface Incoming {
  readonly method: string
  readonly url: URL
  /** As it arrived, without the query. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Null: the other side left before the end of its request. */
  readonly text: string | null
  /** When its head arrived. */
  readonly at: number
}

export interface Reception {
  readonly answer: Answer
  readonly note: Notes
}

export interface World {
  readonly stage: Stage
  readonly providers: readonly Provider[]
  readonly gate: Gates['wait']
  key(provider: string): string
  /** Judges, notes and answers. `place` is null where no provider lives at the address. */
  receive(incoming: Incoming, place: Place | null): Reception
}

/** Throws when recordings cannot be read. */
export function createWorld({
  recordings = ownRecordings,
  pace = 'none',
  invent = recordings === ownRecordings,
  keys,
  canaries = {},
}: WorldOptions = {}): World {
  const known = typeof recordings === 'string' ? readRecordings(recordings) : recordings
  const providers = [...standIns, ...othersRecorded(known, standIns)]
  let find = createMatcher(known)
  const folder = typeof recordings === 'string' && recordings !== ownRecordings ? recordings : null
  const stock: Stock = { find: (asked) => find(asked), pace, invent, folder }
  const key = (provider: string): string =>
    (keys !== 'any' && keys?.[provider]) || `sk-witness-key-of-${provider}`
  const secrets = createSecrets(providers.map(({ name }) => key(name)))
  for (const [name, secret] of Object.entries(canaries)) secrets.watchFor(name, secret)
  const book = createLedgerBook(secrets)
  const scripts = createScripts()
  const gates = createGates()
  let onTheWay = 0
  let settled = Promise.withResolvers<void>()
  settled.resolve()

  const stage: Stage = {
    entries: book.entries,
    seen: (nonce, timeoutMs = 5000) => book.seen(nonce, timeoutMs),
    settled: () => settled.promise,
    script: scripts.put,
    release: gates.release,
    watchFor: secrets.watchFor,
    clear() {
      book.clear()
      scripts.clear()
      gates.clear()
      find = createMatcher(known)
    },
  }

  /** What the provider makes of a request before an answer is chosen. */
  function verdictOn(incoming: Incoming, place: Place | null, read: Read, strict: boolean): Verdict {
    if (incoming.text === null) return BROKE_OFF
    if (!place) return UNJUDGED
    const right = keys === 'any' ? null : key(read.provider.name)
    return judge(read.provider, read.endpoint, read.request, { key: right, strict })
  }

  function receive(incoming: Incoming, place: Place | null): Reception {
    const read = readRequest(incoming, place)
    const { provider, endpoint, request, wants, kind } = read
    const { method, path, query, headers, text } = request
    const nonce = nonceIn(text)
    const scripted = nonce ? scripts.next(nonce, { provider: provider.name, model: wants.model, kind }) : null
    const byName = scripted?.scenario ?? scenarioIn(wants.model)
    const scenario = byName ?? (wants.tools ? 'tools' : 'plain')
    const strict = scripted?.strict || findScenario(scenario)?.scenario.strict || false
    const verdict = verdictOn(incoming, place, read, strict)
    const address = incoming.url.origin + incoming.url.pathname
    const folders = [...(place?.kept ?? []), { provider: provider.name, path }]
    const matches = folders.map((kept): MatchInput => {
      const one = classify({ ...kept, method, body: text, query, headers })
      const model = scenarioIn(wants.model) === null ? one.model : undefined
      return { ...one, model, scenario: byName ?? one.scenario }
    })
    const asked: ProviderRequest = {
      provider,
      endpoint,
      method,
      path,
      wants,
      scenario,
      named: byName !== null,
      matches,
      address,
    }
    const chosen = answerTo(asked, verdict, scripted, stock, place !== null)
    const answer = nonce === null ? chosen : withOwnId(chosen, nonce)

    const entry = openEntry({
      kind,
      at: incoming.at,
      provider: provider.name,
      method,
      path: incoming.path,
      endpoint: path,
      wants,
      nonce,
      verdict,
      canaries: secrets.found([incoming.url.href, ...Object.values(incoming.headers), text]),
      headers: incoming.headers,
      text,
      shown: provider.credential(request),
      answer,
    })
    book.enter(entry)
    if (onTheWay++ === 0) settled = Promise.withResolvers()
    return { answer, note: notesOn(entry, answer, () => --onTheWay === 0 && settled.resolve()) }
  }

  return { stage, providers, key, gate: gates.wait, receive }
}

/** A request as its provider reads it. */
interface Read {
  readonly provider: Provider
  readonly endpoint: Endpoint | null
  readonly request: Arrived
  readonly wants: Wants
  readonly kind: RequestKind
}

function readRequest({ method, url, headers, text }: Incoming, place: Place | null): Read {
  const { provider, path } = place ?? { provider: foreign(hostName(url.host)), path: url.pathname.slice(1) }
  const body = text ?? ''
  const request = { method, path, query: url.searchParams, headers, text: body, json: parse(body) }
  const found = endpointOf(provider, method, path)
  return {
    provider,
    endpoint: found?.endpoint ?? null,
    request,
    wants: found ? found.endpoint.wants(request, found.params) : openAiWants(request),
    kind: found?.endpoint.kind ?? (method === 'POST' ? 'inference' : 'metadata'),
  }
}

/** A host that is no provider's has no rules; interception alone ever sees one. */
const UNJUDGED: Verdict = { credential: 'absent', problems: [], refused: null }

const BROKE_OFF: Verdict = { ...UNJUDGED, problems: ['the request broke off before its end'] }

function answerTo(
  asked: ProviderRequest,
  { refused, credential, problems }: Verdict,
  scripted: ParsedAnswer | null,
  stock: Stock,
  known: boolean,
): Answer {
  // The provider may have answered what a stand-in would refuse; but only we know whether the key is right.
  const badKey = credential === 'mismatch' || problems.includes(NO_CREDENTIAL)
  if (refused && (stock.invent || asked.named || badKey)) return { ...refusalOf(refused), from: 'refusal' }
  if (known && !asked.endpoint) return noEndpoint(asked, stock)
  return choose(asked, scripted, stock)
}

/** Such a host, in the place of a provider. */
const foreign = (host: string): Provider => ({
  name: host,
  origin: `https://${host}`,
  basePaths: [''],
  endpoints: [],
  credential: bearer,
  refusal: openAiRefusal,
  unknownField: () => null,
})

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
