// `waybill recordings drift` and `refresh`: check whether providers still answer in the shape of the
// recordings, and replace recordings with newer answers.

import { hash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { keepIn } from '../../mocks/recording/digest-key.ts'
import { type Recording, readRecordings, SETTINGS_FOLDER } from '../../mocks/recording/format.ts'
import { writeAs } from '../../mocks/recording/make.ts'
import { createRecorder } from '../../mocks/recording/recorder.ts'
import { withFolder } from '../../mocks/recording/replay.ts'
import { hasMoved, kindOfRecording, movedIn, wordMoved } from '../../mocks/recording/structure.ts'
import { tokensOfAnswer } from '../../mocks/server/sum.ts'
import { type Loaded, loadConfig } from '../config/load.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { createPricer, pricingOf } from '../pricing/pricing.ts'
import { dollars } from '../terminal/numbers.ts'
import { print, UsageError } from './output.ts'

interface DriftOptions {
  readonly dir: string
  /** Sends the calls; without this option they are only announced. */
  readonly live?: boolean
  /** Folder of newer recordings to compare with. If it is given, no calls are made. */
  readonly with?: string
  /** Maximum cost of the calls, US dollars. */
  readonly limit: number
  readonly config: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Prints the changes in each recording. Throws if anything changed, or if a call failed. */
export async function drift({ dir, live, with: other, limit, config, env }: DriftOptions): Promise<void> {
  if (live && other !== undefined) throw new UsageError('--live asks, --with compares; name one of them')
  const known = readRecordings(dir)
  if (known.length === 0) throw new Error(`${dir} holds no recordings; name the folder they are in`)
  if (other !== undefined) {
    const newer = readRecordings(other)
    conclude(known.map((one) => ({ recording: one, newer: newer.filter((two) => isAlike(one, two)) })))
    return
  }
  const loaded = loadConfig(config, { env, replay: live !== true })
  const plan = planAgain(known, loaded)
  announce(plan, limit)
  if (plan.asked.length === 0)
    throw new Error(
      `none of the ${known.length} recordings can be asked again; to compare them with newer ones of the same program, record those, then: waybill recordings drift ${dir} --with NEWER`,
    )
  if (!live) {
    print('Nothing was sent. Repeat with --live to ask.')
    return
  }
  const { fresh, failed, usd } = await askAgain(dir, plan, loaded, limit, (name) => print(`asking  ${name}`))
  print(`They cost ${usd === null ? 'an unknown amount' : dollars(usd)}. The gateway's record has each call.`)
  for (const { name, reason } of failed) print(`failed  ${name}: ${reason}`)
  const pairs = plan.asked.flatMap(({ recording }) => {
    const newer = fresh.find(({ name }) => name === recording.name)
    return newer ? [{ recording, newer: [newer] }] : []
  })
  conclude(pairs, failed.length, dir)
}

/** Prints the planned calls with their cost, and the skipped recordings by reason. */
function announce({ asked, left }: Plan, limit: number): void {
  for (const [reason, those] of Map.groupBy(left, ({ reason }) => reason))
    print(`not asked  ${those.length === 1 ? those[0]!.name : `${those.length} recordings`}: ${reason}`)
  if (asked.length === 0) return
  const known = asked.flatMap(({ usd }) => (usd === null ? [] : [usd]))
  const unknown = asked.length - known.length
  const sum = known.reduce((all, usd) => all + usd, 0)
  print(
    `${asked.length} calls to ${[...new Set(asked.map(({ recording }) => recording.provider))].join(', ')}. With the tokens that were recorded they cost ${dollars(sum)} at today's prices${unknown > 0 ? `, without ${unknown} whose cost is unknown` : ''}; the limit is ${dollars(limit)}.`,
  )
}

const isAlike = (one: Recording, two: Recording): boolean =>
  one.provider === two.provider && one.endpoint === two.endpoint && one.request.model === two.request.model

/** Prints a result for each recording, and a total. Throws if anything changed or failed. */
function conclude(
  pairs: readonly { readonly recording: Recording; readonly newer: readonly Recording[] }[],
  failed = 0,
  dir?: string,
): void {
  const counts = { same: 0, moved: 0, other: 0 }
  for (const { recording, newer } of pairs) {
    const { name } = recording
    const moved = movedIn(recording, newer)
    if (moved === null) {
      const kinds = [...new Set(newer.map(kindOfRecording))].join(', ')
      const isError = ({ response }: Recording) => response.status >= 400
      // A model may answer with a tool call instead of text. A new error is a change.
      const kind = newer.some(isError) && !isError(recording) ? 'moved' : 'other'
      counts[kind]++
      print(
        `${kind}   ${name}: ${kinds === '' ? 'nothing newer to compare with' : `now ${kinds}, before ${kindOfRecording(recording)}`}`,
      )
    } else if (hasMoved(moved)) {
      counts.moved++
      print(`moved   ${name}`)
      for (const line of wordMoved(moved)) print(`        ${line}`)
    } else counts.same++
  }
  const { same, moved, other } = counts
  const sum = `${same} have the same shape, ${moved} moved, ${other} of another kind, ${failed} failed`
  if (dir !== undefined && moved + other > 0)
    print(`Look at ${againFolder(dir)}, then take it up: waybill recordings refresh ${dir}`)
  if (moved + failed > 0) throw new Error(sum)
  print(sum)
}

/**
 * Replaces recorded answers with the newer ones from `drift --live`. Throws if one of them cannot be
 * replaced.
 */
export function refresh({ dir, only }: { readonly dir: string; readonly only?: readonly string[] }): void {
  const again = againFolder(dir)
  const known = readRecordings(dir)
  const newer = existsSync(again) ? readRecordings(again) : []
  if (newer.length === 0)
    throw new Error(
      `there are no newer answers in ${again}; get them: waybill recordings drift ${dir} --live`,
    )
  const strange = only?.find((name) => !newer.some((one) => one.name === name))
  if (strange !== undefined)
    throw new UsageError(
      `--only: there is no newer answer of ${strange}; there are: ${newer.map(({ name }) => name).join(', ')}`,
    )
  let kept = 0
  for (const answer of newer) {
    if (only && !only.includes(answer.name)) continue
    const old = known.find(({ name }) => name === answer.name)
    const reason = old ? reasonToKeep(old, answer, known) : 'its recording is gone'
    if (old && reason === null) {
      writeAs(dir, old, answer)
      for (const file of [`${old.name}.json`, join(old.name, '..', answer.response.body)])
        rmSync(join(again, file), { force: true })
    } else kept++
    print(reason === null ? `taken up  ${answer.name}` : `kept      ${answer.name}: ${reason}`)
  }
  if (kept > 0) throw new Error(`${kept} recordings stay as they are, for the reasons above`)
}

/** Returns the reason why a newer answer cannot replace the old one, or null. */
function reasonToKeep(old: Recording, answer: Recording, known: readonly Recording[]): string | null {
  if (answer.response.status >= 400 && old.response.status < 400)
    return `the newer answer is an error, status ${answer.response.status}`
  const said = old.request.said?.parts.map(({ digest }) => digest)
  const later = known.find(({ request }) => {
    const parts = request.said?.parts.map(({ digest }) => digest)
    return said && parts && parts.length > said.length && said.every((digest, i) => digest === parts[i])
  })
  return later
    ? `${later.name} continues from the old answer; record the conversation again with \`waybill record\``
    : null
}

/** Recording that contains its request. */
type Askable = Recording & {
  readonly request: { readonly asked: NonNullable<Recording['request']['asked']>; readonly model: string }
}

/**
 * Recordings that can be repeated, with the cost of their recorded tokens, and the other recordings, each
 * with a reason.
 */
interface Plan {
  readonly asked: readonly { readonly recording: Askable; readonly usd: number | null }[]
  readonly left: readonly { readonly name: string; readonly reason: string }[]
}

/** Plans the calls. Sends nothing. */
function planAgain(recordings: readonly Recording[], { config }: Loaded): Plan {
  const priceOf = createPricer(pricingOf(config))
  const asked: { recording: Askable; usd: number | null }[] = []
  const left: { name: string; reason: string }[] = []
  for (const recording of recordings) {
    const found = askableOf(recording, Object.keys(config.providers))
    if (typeof found === 'string') {
      left.push({ name: recording.name, reason: found })
      continue
    }
    const { provider, request, bytes } = found
    const target = { provider, model: request.model }
    const tokens = tokensOfAnswer(Buffer.from(bytes).toString())
    const { input = 0, output = 0, cached = null, written = null } = tokens ?? {}
    const counts = { input, output, cached_input: cached, cache_write: written, reasoning: null }
    const { usd, missing } = priceOf(target, counts, Date.now())
    if (missing.includes('price')) {
      const id = `${provider}/${request.model}`
      left.push({ name: recording.name, reason: `the price of ${id} is unknown; set models.${id}.price` })
    } else asked.push({ recording: found, usd: tokens && usd })
  }
  return { asked, left }
}

/** Returns a recording whose request can be repeated, or the reason why it cannot. */
function askableOf(recording: Recording, known: readonly string[]): Askable | string {
  const { provider, endpoint, request } = recording
  if (!request.asked) return 'it does not hold its request; record with --keep-requests'
  if (!known.includes(provider)) return `there is no provider ${provider} in the configuration`
  if (request.model === null || pathOf(endpoint, '', false) === null)
    return `calls of ${endpoint} cannot be asked again`
  if (['previous_response_id', 'conversation', 'thread'].some((name) => request.asked!.body[name] != null))
    return 'it continues a conversation that the provider kept'
  return recording as Askable
}

/** Returns the gateway's path for the endpoint of a recording; null if there is none. */
function pathOf(endpoint: string, model: string, stream: boolean): string | null {
  if (/^models\/[^/]+:generateContent$/.test(endpoint))
    return `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
  return /^(?:chat\/completions|messages|responses|embeddings|images\/generations)$/.test(endpoint)
    ? `/v1/${endpoint}`
    : null
}

/** Maximum time until the end of a call is on record, ms. */
const CLOSED_TIMEOUT_MS = 5_000

interface Again {
  /** Newer recording for each name. Its answer may be an error. */
  readonly fresh: readonly Recording[]
  /** Recordings without a newer one, with the reason. */
  readonly failed: readonly { readonly name: string; readonly reason: string }[]
  /** Cost of the calls, US dollars; null if it is unknown. */
  readonly usd: number | null
}

/** Folder of the newer recordings, inside a folder of recordings. */
const againFolder = (dir: string): string => join(dir, SETTINGS_FOLDER, 'asked-again')

/**
 * Repeats the requests one by one through a gateway, with a key whose budget is the limit, so that they are on record.
 * Stores the answers in `againFolder`. Stops before a call that would exceed the
 * limit if it uses as many tokens as the recorded one.
 */
async function askAgain(
  dir: string,
  { asked }: Plan,
  loaded: Loaded,
  limit: number,
  onAsked: (name: string) => void,
): Promise<Again> {
  const again = againFolder(dir)
  rmSync(again, { recursive: true, force: true })
  mkdirSync(again, { recursive: true, mode: 0o700 })
  writeFileSync(join(again, '.gitignore'), '*\n')
  const gateway = await limitedGateway(dir, loaded, limit)
  const fresh: Recording[] = []
  const failed: { name: string; reason: string }[] = []
  try {
    let spent: number | null = 0
    for (const { recording, usd } of asked) {
      const { name } = recording
      // After a call of unknown cost, the limit could not be enforced.
      if (spent === null || spent + (usd ?? 0) > limit) {
        failed.push({ name, reason: `not asked, because of the limit of ${dollars(limit)}` })
        continue
      }
      onAsked(name)
      const { reason, answer } = await gateway.ask(recording)
      if (answer) fresh.push(writeAs(again, recording, answer))
      else failed.push({ name, reason })
      spent = await gateway.spent()
    }
    return { fresh, failed, usd: spent }
  } finally {
    await gateway.close()
  }
}

/** Starts a gateway with a recorder for each provider and one key, whose budget is the limit. */
async function limitedGateway(dir: string, { config, ...loaded }: Loaded, limit: number) {
  const key = `wb_${randomBytes(32).toString('base64url')}`
  const name = `recordings-drift-${Date.now()}`
  const keys = [
    {
      ...{ name, role: 'client' as const, digest: `sha256:${hash('sha256', key)}` },
      budget: [{ usd: limit, per: 'month' as const, unpriced: 'refuse' as const }],
    },
  ]
  // Folder next to the newer recordings, from which no recordings are read. An interrupted run leaves files only
  // here.
  const out = join(againFolder(dir), SETTINGS_FOLDER)
  mkdirSync(out, { mode: 0o700 })
  let last: { name?: string; reason?: string } = {}
  const wires = Object.entries(config.providers).map(([provider, { base_url: baseUrl }]) =>
    createRecorder({
      ...{ provider, baseUrl, out, now: Date.now, secrets: [...loaded.secrets.values(), key] },
      keep: keepIn(dir, { keepAnswers: true }, process.cwd()),
      onRecorded: (name) => (last = { name }),
      onRefused: (reason) => (last = { reason }),
    }),
  )
  const server = { ...config.server, host: '127.0.0.1', port: 0 }
  const gateway = await createGateway({
    ...loaded,
    config: { ...config, server, keys, cache: { ...config.cache, enabled: false } },
    wire: (dispatch) => wires.reduce((inner, wire) => wire(inner), dispatch),
  })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return {
    async ask({ provider, endpoint, request: { model, stream, asked } }: Askable) {
      last = {}
      const target = `${provider}/${model}`
      const body = endpoint.startsWith('models/') ? asked.body : { ...asked.body, model: target }
      const response = await fetch(gateway.url + pathOf(endpoint, target, stream === true), {
        method: 'POST',
        headers: { ...asked.headers, ...headers },
        body: withFolder(JSON.stringify(body), process.cwd()),
      })
      const text = await response.text().catch((error: Error) => error.message) // the answer may be cut off
      const answer = readRecordings(out).find(({ name }) => name === last.name)
      rmSync(join(out, provider), { recursive: true, force: true })
      const reason = last.reason ?? `the gateway answered ${response.status}: ${text.slice(0, 300)}`
      return { answer, reason }
    },
    /** Returns the cost of the calls, as soon as the last call is closed in the record. */
    async spent(): Promise<number | null> {
      for (const until = Date.now() + CLOSED_TIMEOUT_MS; ; await sleep(10)) {
        const response = await fetch(`${gateway.url}/api/keys/me`, { headers })
        const use = (await response.json()) as { spent_usd: number | null; reserved_usd: number | null }
        if (use.reserved_usd === 0) return use.spent_usd
        if (Date.now() > until) return null
      }
    },
    async close() {
      await gateway.close(5_000)
      rmSync(out, { recursive: true, force: true })
    },
  }
}
