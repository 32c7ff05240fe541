// The official clients read each deviation from the provider directly, through a gateway natively, and translated. They
// are an oracle that this project did not write: what a client understands directly, it understands through the gateway.
// docs/deviations.md contains the tables of a full run. WAYBILL_READINGS=FILE writes what each client concluded from each
// deviation.
import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { type Deviation, readDeviations } from '../../mocks/deviations/read.ts'
import type { Script } from '../../mocks/test-upstream.ts'
import { sharedGateways } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'
import { formsOf } from './test-deviations.ts'
import { aiSdkClients, endPython, pythonClients } from './test-further-clients.ts'
import { OFFICIAL_CLIENTS, type OfficialClient, type Read } from './test-official-clients.ts'

type Verdict = 'equal' | 'threw' | 'different'
interface Judged {
  readonly verdict: Verdict
  /** What the client concluded, or the exception. */
  readonly got: Read | string
}

const gatewayOf = sharedGateways()

/**
 * Asks `origin` with a client, and compares the conclusion. `isWritten`: the gateway wrote the answer, so all counts,
 * and each client throws after a failure, except for responses, where a failure is a status.
 */
async function judged(
  client: OfficialClient,
  origin: string,
  isStream: boolean,
  { concludes }: Deviation,
  isWritten: boolean,
): Promise<Judged> {
  const got = await client.read(origin, isStream).catch((thrown: Error) => String(thrown))
  const hasFailed = typeof got === 'string' || got.end === 'failed'
  const isNoticed = hasFailed && (!isWritten || client.dialect === 'responses' || typeof got === 'string')
  if (concludes.end === 'failed') return { got, verdict: isNoticed ? 'equal' : 'different' }
  if (typeof got === 'string') return { got, verdict: 'threw' }
  const isEqual = !hasFailed && got.text === concludes.text && isDeepStrictEqual(got.calls, concludes.calls)
  return {
    got,
    verdict: isEqual && (!isWritten || isComplete(client, got, concludes)) ? 'equal' : 'different',
  }
}

/** Whether reasoning, counts, the reason of the end and the ids of calls are as they should be. Only messages has a word for a stop sequence. */
function isComplete(
  { hidesThoughts = false }: OfficialClient,
  got: Read,
  { end, reasoning, usage, doubt }: Deviation['concludes'],
): boolean {
  const isEnd =
    got.end === (end === 'filter' ? 'refusal' : end) || (end === 'stop_sequence' && got.end === 'stop')
  const { input, output } = usage === 'none' || doubt ? {} : { ...usage }
  const isUsage =
    (input ?? got.usage.input) === got.usage.input && (output ?? got.usage.output) === got.usage.output
  const isThought = hidesThoughts || got.reasoning === reasoning
  return isEnd && isUsage && isThought && new Set(got.ids).size === got.ids.length
}

const LIMITS = new Set(['length', 'filter', 'refusal'])

const same = (sent: string) => sent

/** Ways to send a deviation. They change what some clients understand directly. Those that change the bytes are for streams. */
const FRAMINGS: Readonly<Record<string, (sent: string) => string>> = {
  'as it is': same,
  'in small pieces': same,
  'asked for the other form': same,
  'with CRLF': (sent) => sent.replace(/\r?\n/g, '\r\n'),
  'without a space after the colon': (sent) => sent.replace(/^(data|event): /gm, '$1:'),
  'with one name for all events': (sent) => sent.replace(/^event: (?!error|ping).*/gm, 'event: message'),
  'with comments': (sent) => sent.replace(/\r?\n\r?\n/g, '\n\n: ping\n\n'),
}

const script =
  (each: Deviation, form: 'stream' | 'whole', framing: string, bytes: Buffer): Script =>
  (response) => {
    const usual = form === 'stream' ? 'text/event-stream' : 'application/json'
    const headers = Object.entries({ 'content-type': usual, ...each.headers })
    response.writeHead(
      each.status,
      Object.fromEntries(headers.flatMap(([name, value]) => (value === null ? [] : [[name, value]]))),
    )
    const framed = Buffer.from(FRAMINGS[framing]!(bytes.toString('latin1')), 'latin1')
    const size = framing === 'in small pieces' ? 7 : framed.length
    for (let at = 0; at < framed.length; at += size) response.write(framed.subarray(at, at + size))
    setImmediate(() => (each.cut ? response.destroy() : response.end()))
  }

/** Forms of a provider's deviations with this framing. */
const casesOf = (provider: string, framing: string) =>
  readDeviations()
    .filter(({ dialect }) => dialect === provider)
    .flatMap((each) =>
      formsOf(each)
        .filter(([form]) => form === 'stream' || FRAMINGS[framing] === same)
        .map(([form, bytes]) => {
          const isStream = each.ask ? each.ask === 'stream' : form === 'stream'
          const isOther = framing === 'asked for the other form'
          return { each, form, isStream: isStream !== isOther, script: script(each, form, framing, bytes) }
        }),
    )

/** Writes a row for one deviation and one client: `-` instead of `directly` means that the gateway translated. */
function note(...[deviation, form, framing, client, directly, through]: readonly string[]): void {
  const { WAYBILL_READINGS: file } = process.env
  if (file !== undefined)
    appendFileSync(file, `| ${[deviation, form, framing, client, directly, through].join(' | ')} |\n`)
}

/** Counts of one client and one class of deviations. */
class Cell {
  readonly direct = { equal: 0, threw: 0, different: 0 }
  readonly through = { equal: 0, threw: 0, different: 0 }

  toString(): string {
    const [direct, through] = [this.direct, this.through].map((of) => Object.values(of))
    const isNative = direct!.some((count) => count > 0)
    return `${isNative ? `${direct!.join('/')} → ` : ''}${through!.join('/')}`
  }
}

/** Clients of one origin. Those that are no dependencies are tested where they are installed. */
const CLIENTS: Readonly<
  Record<string, { clients: readonly OfficialClient[]; versions: string | null; missing?: string }>
> = {
  'official clients': { clients: OFFICIAL_CLIENTS, versions: 'dependencies of this project' },
  'clients of the AI SDK': aiSdkClients(),
  'official Python clients': pythonClients(),
}
after(endPython)

const TESTS = Object.entries(CLIENTS).flatMap(([who, { clients, versions, missing }]) =>
  (['chat', 'messages', 'responses', 'gemini', 'interactions'] as const).flatMap((provider) =>
    Object.keys(FRAMINGS).map((framing) => ({
      ...{ who, clients, provider, framing, versions },
      skip: versions === null && `not installed: ${missing}`,
    })),
  ),
)
for (const { who, clients, provider, framing, versions, skip } of TESTS)
  test(`${who} conclude from each deviation of a ${provider} provider, ${framing}, through the gateway what they conclude directly, and in other dialects what a right reader concludes (DIAL-15, DIAL-18)`, {
    skip,
  }, async (t) => {
    const { url, upstream } = await gatewayOf(t, {
      dialects: { alpha: [provider] },
      config:
        'routes: { auto: { targets: [ { model: alpha/m } ] } }\nresilience: { retries: 0, cooldown: 0s }',
    })
    const alpha = upstream.alpha!
    const rows = new Map<string, Map<OfficialClient, Cell>>()
    const wrong: string[] = []
    for (const { each, form, isStream, script } of sample(casesOf(provider, framing), 25)) {
      alpha.script = script
      const row = rows.get(each.class) ?? new Map<OfficialClient, Cell>()
      rows.set(each.class, row)
      for (const client of clients) {
        if (client.onlyStreams && !isStream) continue
        const isNative = client.dialect === provider
        const direct = isNative
          ? await judged(client, new URL(alpha.baseUrl).origin, isStream, each, false)
          : null
        alpha.ledger.length = 0
        const through = await judged(client, url, isStream, each, !isNative)
        assert.equal(alpha.ledger.length, 1, `${each.id}, ${client.name}: the provider is asked once`)
        const cell = row.get(client) ?? new Cell()
        row.set(client, cell)
        cell.through[through.verdict]++
        if (direct) cell.direct[direct.verdict]++
        note(`${provider}/${each.id}`, form, framing, client.name, direct?.verdict ?? '-', through.verdict)
        if (through.verdict === 'equal' || (direct && direct.verdict !== 'equal')) continue
        if (client.throwsAtLimits && through.verdict === 'threw' && LIMITS.has(each.concludes.end)) continue
        const expected = JSON.stringify(each.concludes)
        wrong.push(
          `${provider}/${each.class}.yaml ${each.id} (${form}), ${client.name}: ${through.verdict}: ${JSON.stringify(through.got)}, expected ${expected}`,
        )
      }
    }
    t.diagnostic(`${versions}`)
    for (const [name, row] of framing === 'as it is' ? rows : []) {
      const cells = clients.map((client) => row.get(client) ?? '–')
      t.diagnostic(`| ${provider}/${name} | ${cells.join(' | ')} |`)
    }
    assert.deepEqual(wrong, [])
  })
