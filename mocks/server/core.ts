// Core of the mock: receives a request, validates it, writes it into the ledger, and chooses its answer. Both
// transports (interception and the port) use this core, so that they give the same answers.
import { hash } from 'node:crypto'
import { type FactTable, packageTable } from '../../src/models/facts.ts'
import type { Clock } from '../../src/shared/clock.ts'
import { bytesOf, type MockAnswer, type Notes } from '../answer.ts'
import { openAiRefusal, openAiWants } from '../dialects/openai-chat.ts'
import type { Form } from '../form.ts'
import { type LedgerEntry, nonceIn, type RequestKind, requestKindOf } from '../ledger.ts'
import { classify, hasToolResult, scenarioIn } from '../matching/classify.ts'
import { conversationOf } from '../matching/conversation.ts'
import type { Digester } from '../matching/digest.ts'
import { type Asked, createMatcher, type MatchInput, match } from '../matching/match.ts'
import { createModelJudge, type ModelJudge } from '../models/judge.ts'
import {
  type Arrived,
  arrivedAt,
  type BatchAnswer,
  bearer,
  type Endpoint,
  endpointOf,
  type MockProvider,
  type Play,
  type RefusedRequest,
  type Wants,
} from '../provider.ts'
import { providers as builtIn, othersRecorded, type ProviderMatch } from '../providers/registry.ts'
import { digesterForReplay } from '../recording/digest-key.ts'
import { ownRecordings, type Recording, readRecordings } from '../recording/format.ts'
import type { Pace } from '../recording/replay.ts'
import { hostName } from '../redaction/paths.ts'
import {
  type ChosenDeviations,
  chooseDeviations,
  createDeviationTurns,
  type Deviations,
} from '../scenarios/deviations.ts'
import { offeredTools } from '../scenarios/offered-tools.ts'
import { findScenario } from '../scenarios/registry.ts'
import { refusalOf } from '../scenarios/scenario.ts'
import { ObjectStores } from '../stored-objects/kept.ts'
import { type Chaos, chaosSchema, createChaos, type Fate, type ParsedChaos } from './chaos.ts'
import { AnswerStore, createThreads, isAboutKept, type ThreadTurn, withOwnId } from './kept-answers.ts'
import { createLedgerBook, type Noted, notesOn, openEntry } from './ledger-book.ts'
import { isExplicit, type MatchRequest, noEndpoint, pickAnswer, type Stock } from './pick-answer.ts'
import {
  createGates,
  createScripts,
  type Gates,
  type ParsedAnswer,
  parseAnswer,
  ScriptError,
  type ScriptedAnswer,
} from './script.ts'
import { createSecrets, type Secrets, secondKeyOf } from './secrets.ts'
import { type LedgerSum, sumOf } from './sum.ts'
import { NO_CREDENTIAL, type Validation, validate } from './validate.ts'

export interface WorldOptions {
  /** Recordings, or their directory; default: the package's recordings. */
  readonly recordings?: readonly Recording[] | string
  readonly pace?: Pace
  /**
   * True if an answer is made up when no recording fits. Otherwise the answer is an error that names the
   * nearest recording. A scenario requested by name is always played. Default: true only without
   * `recordings`, because a made-up answer could hide a test's failure.
   */
  readonly invent?: boolean
  /**
   * True if a recording with the same last message and the fewest differences before it may answer. Default:
   * false; only the same conversation is answered.
   */
  readonly similar?: boolean
  /**
   * Provider name -> its valid key; default `sk-mock-key-of-NAME`, formatted like a key so that gateways
   * recognise it. `any`: every key is valid, and so is a request without one.
   */
  readonly keys?: Readonly<Record<string, string>> | 'any'
  /**
   * True if every model name is accepted, and every model accepts every request. Otherwise a request that the
   * model would refuse is refused in the provider's words. Default: false.
   */
  readonly lenient?: boolean
  /** Returns the known facts about models; called for each request. Default: the package's facts. */
  readonly facts?: () => FactTable
  /** Chaos (errors, cuts, delays) and pace for every context that does not set its own. */
  readonly chaos?: Chaos
  /**
   * Answers as real providers deviate from the documents of their formats, instead of recordings: the deviations of
   * these names (`chat/id-per-fragment`), or all in an order that follows from a seed. Each call of a dialect gets the
   * next one. The ledger says what a right reader concludes.
   */
  readonly deviations?: Deviations
  /** Clock of the whole process until the mock ends: its times and its timers. The machine's by default. */
  readonly clock?: Clock
  /** Name -> a secret that must not reach a provider. */
  readonly canaries?: Readonly<Record<string, string>>
}

/** Observation and control from outside, identical in a process and over the control port. */
export interface MockControls {
  /** Returns requests in order of arrival; with `since`, only entries with a greater `n`. */
  entries(since?: number): LedgerEntry[]
  /** Resolves with the first request that has the nonce; rejects if none comes within `timeoutMs` (5000). */
  seen(nonce: string, timeoutMs?: number): Promise<LedgerEntry>
  /** Sets the answers to requests with a nonce. Throws if the script is invalid. */
  script(nonce: string, answers: readonly ScriptedAnswer[]): void
  /**
   * Answers the next call with this answer, or the next calls with several answers in order. With `when`,
   * answers only calls that meet the condition. With `times: 'every'`, answers all calls that have no other
   * answer. Throws if an answer is invalid.
   */
  answer(answers: ScriptedAnswer | readonly ScriptedAnswer[]): void
  /**
   * Makes a share of the calls fail, break off or wait, and sets the pace of all calls; `null` turns this
   * off. Counts calls from 1. Does not affect calls with a script. Throws if the settings are invalid.
   */
  chaos(numbers: Chaos | null): void
  /** Returns the sums of the ledger: calls, failures, tokens, cost, problems. */
  sum(): LedgerSum
  /** Resolves when no answer is in progress and all answers are fully recorded. */
  settled(): Promise<void>
  /** Opens a gate; it stays open. */
  release(gate: string): void
  /** Plants a secret: an entry reports that it arrived, and all output masks it. */
  watchFor(name: string, secret: string): void
  /** Clears entries, scripts, gates and turns, and releases everything held. Planted secrets stay planted. */
  clear(): void
}

/** Request as the transport read it. */
interface Incoming {
  readonly method: string
  readonly url: URL
  /** Path as received, without the query. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Null if the client left before the end of its request. */
  readonly body: Uint8Array | null
  /** Body as a form; null if it is not a form. */
  readonly form: Form | null
  /** Address of the mock as configured in the client; the rest of a request's address belongs to the provider. */
  readonly self: string
  /** Time at which its headers arrived. */
  readonly at: number
  /** Name of the context in the request's address, if any. */
  readonly context?: string | null
  /** WebSocket that carried the request; absent or null for HTTP. */
  readonly socket?: object | null
}

interface Reception {
  readonly answer: MockAnswer
  readonly note: Notes
  readonly gate: Gates['wait']
}

/** Part of the mock that belongs to one test: requests with its name see and change only this part. */
export interface MockContext extends MockControls {
  readonly name: string
  /** Headers that put a request into the context, for clients that can send additional headers. */
  readonly headers: Readonly<Record<string, string>>
  /** Returns a provider's key that puts a request into the context. */
  key(provider: string): string
}

export interface World {
  /** Context of the requests that name none. */
  readonly stage: MockControls
  readonly providers: readonly MockProvider[]
  key(provider: string): string
  /** Returns the context of this name. */
  context(name: string): MockContext
  /** Clears every context and releases everything held. */
  clearAll(): void
  /** Validates, records and answers a request. `place` is null if the address belongs to no provider. */
  receive(incoming: Incoming, place: ProviderMatch | null): Reception
}

/** Header that names the context of a request. */
const CONTEXT_HEADER = 'x-waybill-test'

/** Maximum number of contexts; the least recently used context is dropped first. */
const MAX_CONTEXTS = 10_000

/** Creates the core. Throws if recordings cannot be read. */
export function createWorld({
  recordings = ownRecordings,
  pace = 'none',
  invent = recordings === ownRecordings,
  similar = false,
  keys,
  lenient = false,
  facts = packageTable,
  chaos,
  deviations = [],
  canaries = {},
}: WorldOptions = {}): World {
  const known = typeof recordings === 'string' ? readRecordings(recordings) : recordings
  const providers = [...builtIn, ...othersRecorded(known, builtIn)]
  const folder = typeof recordings === 'string' && recordings !== ownRecordings ? recordings : null
  const key = (name: string) => (keys !== 'any' && keys?.[name]) || `sk-mock-key-of-${name}`
  const secrets = createSecrets(providers.map(({ name }) => key(name)))
  for (const [name, secret] of Object.entries(canaries)) secrets.watchFor(name, secret)
  const shared: Shared = {
    ...{ known, pace, invent, similar, folder, secrets },
    judgeModel: lenient ? null : createModelJudge(known, facts),
    digester: digesterForReplay(folder, known),
    keyFor: (provider) => (keys === 'any' ? null : key(provider)),
    chaos: chaos ? parseChaos(chaos) : null,
    deviations: chooseDeviations(deviations),
  }
  const root = createContext(shared, null)
  const contexts = new Map<string, Context>()

  function contextOf(name: string): Context {
    const context = contexts.get(name) ?? createContext(shared, name)
    contexts.delete(name)
    contexts.set(name, context) // moves the context to the end: the most recently used one is last
    if (contexts.size > MAX_CONTEXTS) contexts.delete(contexts.keys().next().value!)
    return context
  }

  return {
    stage: root.stage,
    providers,
    key,
    context: (name) => ({
      ...contextOf(name).stage,
      name,
      headers: { [CONTEXT_HEADER]: name },
      key: (provider) => contextKey(key(provider), name),
    }),
    clearAll() {
      for (const { stage } of [root, ...contexts.values()]) stage.clear()
    },
    receive(incoming, place) {
      const name =
        incoming.headers[CONTEXT_HEADER] ?? incoming.context ?? contextInKey(incoming, place, shared.keyFor)
      return (name ? contextOf(name) : root).receive(incoming, place)
    },
  }
}

/** Returns a key that a provider accepts and that names the context. */
const contextKey = (key: string, name: string): string => `${key}-t-${name}`

/** Returns the context named by a request's credential, or null. */
function contextInKey(
  { method, url, headers }: Incoming,
  place: ProviderMatch | null,
  keyFor: Shared['keyFor'],
): string | null {
  if (!place) return null
  const { provider, path } = place
  const key = keyFor(provider.name)
  if (key === null) return null
  const request = arrivedAt({ method, path, query: url.searchParams, headers })
  const front = contextKey(key, '')
  const shown = provider.credential(request)
  return shown?.startsWith(front) ? shown.slice(front.length) : null
}

/** Properties that all contexts of a mock have in common. */
interface Shared extends Omit<Stock, 'find' | 'holds'> {
  readonly known: readonly Recording[]
  readonly similar: boolean
  readonly digester: Digester | null
  readonly judgeModel: ModelJudge | null
  readonly secrets: Secrets
  readonly chaos: ParsedChaos | null
  readonly deviations: ChosenDeviations
  /** Returns the valid key of a provider; null if any key is valid. */
  keyFor(provider: string): string | null
}

interface Context {
  readonly stage: MockControls
  receive(incoming: Incoming, place: ProviderMatch | null): Reception
}

/** Creates the ledger, scripts, gates and turns of one context, or of all requests without a context. */
function createContext(shared: Shared, name: string | null): Context {
  const { known, secrets, keyFor, judgeModel } = shared
  let find = createMatcher(known)
  const stock: Stock = { ...shared, find: (asked) => find(asked), holds: holdsIn(known) }
  const book = createLedgerBook(secrets)
  const scripts = createScripts()
  const gates = createGates()
  const threads = createThreads()
  const keptAnswers = new AnswerStore()
  const objectStores = new ObjectStores()
  let turns = 0
  const chaos = createChaos(shared.chaos)
  const deviating = createDeviationTurns(shared.deviations)
  const underWay = countUnderWay()

  const stage: MockControls = {
    entries: book.entries,
    seen: (nonce, timeoutMs = 5000) => book.seen(nonce, timeoutMs),
    settled: underWay.settled,
    script: scripts.put,
    answer: scripts.add,
    release: gates.release,
    watchFor: secrets.watchFor,
    chaos: (numbers) => chaos.set(numbers && parseChaos(numbers)),
    sum: () => sumOf(book.entries()),
    clear() {
      chaos.set(shared.chaos)
      deviating.clear()
      book.clear()
      scripts.clear()
      gates.clear()
      threads.clear()
      keptAnswers.clear()
      objectStores.clear()
      find = createMatcher(known)
    },
  }

  function receive(incoming: Incoming, place: ProviderMatch | null): Reception {
    const read = readRequest(incoming, place, threads)
    const { provider, request, wants, kind, turn } = read
    const nonce = nonceIn(turn ? JSON.stringify(request.json) : request.text)
    const scripted = scripts.next(nonce, {
      provider: provider.name,
      model: wants.model,
      kind,
      isKnown: read.endpoint !== null || isAboutKept(provider, request),
      body: request.json,
    })
    const named = scripted?.scenario ?? scenarioOfModel(wants.model, request.json)
    const byName = named ?? (scripted || incoming.socket ? null : deviating.next(read))
    const asked = matchRequestOf(incoming, place, read, byName, contentOf(read, incoming.at, shared))
    const strict = scripted?.strict || findScenario(asked.scenario)?.scenario.strict || false
    const valid = keyFor(provider.name)
    const key = rightKey(valid, name, provider.credential(request))
    const socket = incoming.socket ?? null
    const state = keptAnswers.turn(request, provider, kind, socket)
    const rules = { key, strict, judgeModel, lost: state.refused }
    const verdict = verdictOn(incoming, place, read, rules)
    const about = verdict.credential === 'mismatch' ? null : state.answer
    const play: Play = (...its) => playOne(its, { incoming, place, rules, threads, stock, shared })
    const fromObjects = () => keptFor(read, objectStores, play)
    const answering = (how: ParsedAnswer | null) =>
      answerTo(asked, verdict, how, stock, { fromObjects, hasKnownPaths: place !== null && !place.kept })
    const fate = kind === 'inference' && !scripted ? chaos.next() : null
    const chosen = about ?? suffer(fate, scripted, answering)
    const id = idFor(nonce, turn !== null || socket !== null, scripted, () => `${name} ${++turns}`)
    const own = id === null || read.endpoint?.isKept ? chosen : withOwnId(chosen, id)
    const answer = state.keep(own)
    turn?.keep(answer)

    const canaries = secrets.found([incoming.url.href, ...Object.values(incoming.headers), request.text])
    const entry = entryOf(incoming, read, { nonce, verdict, canaries, answer })
    book.enter(entry)
    return { answer, note: notesOn(entry, answer, underWay.begin()), gate: gates.wait }
  }

  return { stage, receive }
}

const holdsIn =
  (known: readonly Recording[]): Stock['holds'] =>
  (asked) =>
    'bytes' in match(known, asked)

/** Returns the properties that determine a request's recording. */
const contentOf = (
  { request, wants }: Read,
  at: number,
  { digester, similar }: Shared,
): Omit<Asked, 'places'> => ({
  said: digester?.(request.json, at) ?? null,
  spoken: () => ({ model: wants.model, parts: conversationOf(request.json)?.parts ?? [] }),
  similar,
})

/** Answers a request about the provider's stored files and batches; returns null for other requests. */
const keptFor = (
  { provider, endpoint, request }: Read,
  objectStores: ObjectStores,
  play: Play,
): MockAnswer | null =>
  endpoint?.isKept ? objectStores.of(provider).answer(request, provider.credential(request), play) : null

/** Answers a request of a batch as if it had arrived by itself. */
function playOne(
  [path, body]: Parameters<Play>,
  { incoming, place, rules, threads, stock, shared }: Batched,
): BatchAnswer {
  const inner = { ...incoming, method: 'POST', body: bytesOf(JSON.stringify(body)), form: null }
  const there = place && { ...place, path }
  const read = readRequest(inner, there, threads)
  const verdict = verdictOn(inner, there, read, rules)
  const byName = scenarioOfModel(read.wants.model, read.request.json)
  const asked = matchRequestOf(inner, there, read, byName, contentOf(read, incoming.at, shared))
  const { status, parts } = answerTo(asked, verdict, null, stock, {
    ...{ fromObjects: () => null, hasKnownPaths: true },
  })
  const bytes = Buffer.concat(parts.filter((part) => part instanceof Uint8Array))
  const answer = parse(bytes.toString('utf8')) ?? null
  return { status: answer === null ? 500 : (status ?? 500), body: answer }
}

/** Call that creates or reads a batch, and the data for the answers to the batch's requests. */
interface Batched {
  readonly incoming: Incoming
  readonly place: ProviderMatch | null
  readonly rules: Rules
  readonly threads: ReturnType<typeof createThreads>
  readonly stock: Stock
  readonly shared: Shared
}

/**
 * Returns the text that makes an answer's ids unique; null for unchanged ids. `next` returns a different text
 * each time.
 */
function idFor(
  nonce: string | null,
  isTurn: boolean,
  scripted: ParsedAnswer | null,
  next: () => string,
): string | null {
  // Each turn of a thread has its own id, with which a client continues the thread.
  if (isTurn) return `${next().replace(/.* /, '').padStart(4, '0')}${nonce ?? ''}`
  // Agents merge answers with the same id.
  if (nonce === null && scripted?.say) return hash('sha256', next()).slice(0, 16)
  return nonce
}

/**
 * Returns the valid key for a request: the second key or the context's key if the request sent it, otherwise
 * the first.
 */
function rightKey(valid: string | null, name: string | null, sent: string | null): string | null {
  if (valid !== null && sent === secondKeyOf(valid)) return sent
  const own = name === null || valid === null ? null : contextKey(valid, name)
  return own !== null && sent === own ? own : valid
}

/** Applies a call's planned outcome to its answer. */
function suffer(
  fate: Fate | null,
  scripted: ParsedAnswer | null,
  answering: (how: ParsedAnswer | null) => MockAnswer,
): MockAnswer {
  if (!fate) return answering(scripted)
  if (fate.status === null) return fate.apply(answering(null))
  return fate.apply({ ...answering(parseAnswer({ status: fate.status })), from: 'chaos' })
}

/** Parses the settings of chaos. Throws a ScriptError that names the field. */
function parseChaos(numbers: Chaos): ParsedChaos {
  const { data, error } = chaosSchema.safeParse(numbers, { reportInput: true })
  if (error) throw new ScriptError(error)
  return data
}

/** Creates a request's entry in the ledger. */
function entryOf(
  { at, path, url, headers }: Incoming,
  { provider, request, wants, kind }: Read,
  judged: Pick<Noted, 'nonce' | 'verdict' | 'canaries' | 'answer'>,
): ReturnType<typeof openEntry> {
  return openEntry({
    ...judged,
    kind,
    at,
    provider: provider.name,
    method: request.method,
    path,
    query: url.search.slice(1),
    endpoint: request.path,
    wants,
    headers,
    text: request.text,
    body_sha256: hash('sha256', request.bytes),
    shown: provider.credential(request),
  })
}

/** Counts answers in progress. `begin` returns the function to call at the end of an answer. */
function countUnderWay(): { begin(): () => void; settled(): Promise<void> } {
  let count = 0
  let none = Promise.withResolvers<void>()
  none.resolve()
  return {
    begin() {
      if (count++ === 0) none = Promise.withResolvers()
      return () => {
        if (--count === 0) none.resolve()
      }
    },
    settled: () => none.promise,
  }
}

/** Describes a request for the choice of its answer. `byName` is the scenario that the request names. */
function matchRequestOf(
  { url }: Incoming,
  place: ProviderMatch | null,
  read: Read,
  byName: string | null,
  content: Omit<Asked, 'places'>,
): MatchRequest {
  const { provider, endpoint, request, wants } = read
  const scenario = byName ?? (wants.tools ? 'tools' : 'plain')
  return {
    provider,
    endpoint,
    method: request.method,
    path: request.path,
    wants,
    body: request.json,
    offered: findScenario(scenario)?.scenario.callsTools ? offeredTools(request.json) : [],
    scenario,
    named: byName !== null,
    criteria: { places: matchesOf(read, place, byName), ...content },
    address: url.origin + url.pathname,
  }
}

/** Describes a request for the search of its recording, with the provider's folder and the scenario. */
function matchesOf(
  { provider, request, wants }: Read,
  place: ProviderMatch | null,
  scenario: string | null,
): MatchInput[] {
  const { method, path, query, headers, text, json } = request
  const folders = [...(place?.kept ?? []), { provider: provider.name, path }]
  return folders.map((kept) => {
    const one = classify({ ...kept, method, body: text, json, query, headers })
    const model = scenarioIn(wants.model) === null ? one.model : undefined
    return { ...one, model, scenario: scenario ?? one.scenario }
  })
}

const decoder = new TextDecoder()

interface Verdict extends Validation {
  /** Refusal by the model; null if the model accepts the request. */
  readonly unfit: RefusedRequest | null
}

interface Rules {
  readonly key: string | null
  readonly strict: boolean
  readonly judgeModel: ModelJudge | null
  /** Refusal of a request that continues a missing response. */
  readonly lost: RefusedRequest | null
}

/** Validates a request before an answer is chosen. */
function verdictOn(incoming: Incoming, place: ProviderMatch | null, read: Read, by: Rules): Verdict {
  if (incoming.body === null) return BROKE_OFF
  if (!place) return UNJUDGED
  const verdict = validate(read.provider, read.endpoint, read.request, by)
  const lost = read.turn?.refused
  const names = (place.kept ?? []).map((kept) => kept.provider)
  const asked = { model: read.wants.model, body: read.request.json, headers: incoming.headers, names }
  // A body that is invalid for every model is not checked for a single model.
  const unfit = verdict.refused ? null : (by.judgeModel?.(read.provider, read.endpoint, asked) ?? null)
  const { problems, refused } = verdict
  return {
    ...verdict,
    problems: [...problems, ...[lost, unfit].flatMap((each) => each?.problem ?? [])],
    // A folder of recordings shows better which models exist.
    refused: refused ?? lost?.refused ?? by.lost ?? (unfit?.isUnknown ? unfit.refused : null),
    unfit: unfit?.isUnknown ? null : (unfit?.refused ?? null),
  }
}

/** Returns the scenario named by a model id. A tool with a result is not called again. */
function scenarioOfModel(model: string | null, body: unknown): string | null {
  const name = scenarioIn(model)
  return name !== null && findScenario(name)?.scenario.callsTools && hasToolResult(body) ? 'plain' : name
}

/** Request as its provider read it. */
interface Read {
  readonly provider: MockProvider
  readonly endpoint: Endpoint | null
  /** Body, including the turns of the conversation that the provider stores. */
  readonly request: Arrived
  readonly wants: Wants
  readonly kind: RequestKind
  /** Turn of a conversation that the provider stores; null if it stores none. */
  readonly turn: ThreadTurn | null
}

function readRequest(
  { method, url, headers, body, form, self, path: rawPath }: Incoming,
  place: ProviderMatch | null,
  threads: ReturnType<typeof createThreads>,
): Read {
  const { provider, path, basePath } = place ?? {
    ...{ provider: foreign(hostName(url.host)), path: url.pathname.slice(1), basePath: '' },
  }
  const text = body === null ? '' : decoder.decode(body)
  const found = endpointOf(provider, method, path)
  const arrived: Arrived = {
    ...{ method, path, rawPath, query: url.searchParams, headers, text, bytes: body ?? new Uint8Array() },
    json: found?.endpoint.takesForm ? (form ?? undefined) : parse(text),
    base: self + rawPath.slice(0, Math.max(0, rawPath.indexOf(basePath))) + basePath,
  }
  const kind = requestKindOf(method, path)
  const about = isAboutKept(provider, arrived) ? provider.keeps : undefined
  const refusal = (found?.endpoint ?? about)?.refusal
  const turn = provider.holdsThreads && kind === 'inference' ? threads.turn(arrived, provider) : null
  const request = turn?.request ?? arrived
  return {
    provider: refusal ? { ...provider, refusal } : provider,
    endpoint: found?.endpoint ?? null,
    request,
    wants: found ? found.endpoint.wants(request, found.params) : openAiWants(request),
    kind,
    turn,
  }
}

/**
 * Verdict for a host that belongs to no known provider, and so has no rules. Only interception meets such
 * hosts.
 */
const UNJUDGED: Verdict = { credential: 'absent', problems: [], refused: null, unfit: null }

const BROKE_OFF: Verdict = { ...UNJUDGED, problems: ['the request broke off before its end'] }

function answerTo(
  asked: MatchRequest,
  { refused, unfit, credential, problems }: Verdict,
  scripted: ParsedAnswer | null,
  stock: Stock,
  by: {
    /** Answers from the provider's stored files and batches; null if the request is not about them. */
    fromObjects(): MockAnswer | null
    /** False for a provider with a configured address, which may have other paths. */
    readonly hasKnownPaths: boolean
  },
): MockAnswer {
  // A recorded provider may have answered a request that its mock would refuse. A wrong key is refused
  // nevertheless, because only the mock knows the valid key.
  const badKey = credential === 'mismatch' || problems.includes(NO_CREDENTIAL)
  if (refused && (stock.invent || asked.named || badKey)) return { ...refusalOf(refused), from: 'refusal' }
  // Recorded answers come before the mock's own about its models, files and batches.
  const isRecorded = () => !stock.invent && !asked.named && stock.holds(asked.criteria)
  if (unfit && !isRecorded()) return { ...refusalOf(unfit), from: 'model' }
  if (by.hasKnownPaths && !asked.endpoint && !isExplicit(scripted)) return noEndpoint(asked, stock)
  // A refused request that a recording answers anyway is not stored.
  const kept = scripted || refused || (asked.endpoint?.isKept && isRecorded()) ? null : by.fromObjects()
  return kept ?? pickAnswer(asked, scripted, stock)
}

/** Returns a placeholder provider for an unknown host. */
const foreign = (host: string): MockProvider => ({
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
