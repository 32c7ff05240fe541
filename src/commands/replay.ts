// Replay for `serve`: the configured providers answer from recordings, and nothing leaves this machine.
// Describes the recordings, and names missing ones. Depends on the interception, but not on the gateway.

import type { LedgerEntry } from '../../mocks/ledger.ts'
import { providers as builtIn, isKept } from '../../mocks/providers/registry.ts'
import { ownRecordings, type Recording, readRecordings } from '../../mocks/recording/format.ts'
import { interceptProviders } from '../../mocks/server/intercept.ts'
import type { Config } from '../config/load.ts'
import type { Recordings } from '../gateway/create-gateway.ts'
import { type FactTable, factTableOf, packageTable } from '../models/facts.ts'

interface Replay extends Recordings {
  /** Returns the requests to the providers in order, with the recording that answered each. */
  entries(): LedgerEntry[]
  dispose(): void
}

interface ReplaySettings {
  readonly invent: boolean
  readonly lenient: boolean
  readonly similar?: boolean
  /** Returns the gateway's own port if this process calls it. */
  readonly realPort?: () => number | null
}

/**
 * Opens the replay. `directory`: true for the package's recordings. `config` is called for each request. Throws if
 * the recordings are unreadable.
 */
export function startReplay(
  directory: string | true,
  { invent, lenient, similar = false, realPort }: ReplaySettings,
  config: () => Config,
): Replay {
  const recordings = directory === true ? ownRecordings : directory
  const known = readRecordings(recordings)
  const providers = () =>
    Object.fromEntries(Object.entries(config().providers).map(([name, { base_url }]) => [name, base_url]))
  let [tableOf, table]: [Config | null, FactTable] = [null, packageTable()]
  const facts = () => {
    const now = config()
    if (now !== tableOf) [tableOf, table] = [now, factTableOf(now)]
    return table
  }
  const { entries, dispose } = interceptProviders({
    loopback: 'recorded',
    ...(realPort && { realPort }),
    ...{ recordings, invent, lenient, similar, facts, providers },
  })
  const missing = Object.entries(providers())
    .filter(([name, base]) => !isKept(builtIn, known, name, base))
    .map(([name]) => name)
  return {
    notes: [kindsOf(known, directory), ...missingOf(missing, directory, invent)],
    list: known.map(summaryOf),
    entries: () => entries(),
    dispose,
  }
}

/** Returns the public facts of a recording: everything except its contents. */
const summaryOf = (recording: Recording): Recordings['list'][number] => {
  const { name, provider, endpoint, request, response, origin, date, api_version, shape, bytes } = recording
  const { model, stream, scenario } = request
  const { status, chunks } = response
  const size = { bytes: bytes.length, chunks: chunks.length }
  return {
    name,
    provider,
    endpoint,
    model,
    stream,
    scenario,
    status,
    ...size,
    origin,
    date,
    api_version,
    shape,
  }
}

const ORIGINS = {
  recorded: 'recorded',
  authored: 'authored (written by hand)',
  synthetic: 'synthetic (made up)',
}

function kindsOf(known: readonly Recording[], directory: string | true): string {
  const counts = Object.entries(ORIGINS).map(([origin, words]) => {
    const those = known.filter((one) => one.origin === origin)
    return those.length > 0 ? [`${those.length} ${words}`] : []
  })
  return `Answers come from ${directory === true ? "the package's own recordings" : directory}: ${counts.flat().join(', ') || 'none'}.`
}

function missingOf(names: readonly string[], directory: string | true, invent: boolean): string[] {
  if (names.length === 0) return []
  if (invent) return [`There are no recordings of ${names.join(', ')}: their answers are made up (--invent).`]
  const out = directory === true ? 'recordings' : directory
  return [
    `There are no recordings of ${names.join(', ')}: calls to them are refused. Make some, which costs money:`,
    ...names.map((name) => `  waybill record --provider ${name} --out ${out}`),
    directory === true
      ? `and replay them: waybill serve --replay ${out}. Or have answers made up: --invent.`
      : 'Or have answers made up: --invent.',
  ]
}
