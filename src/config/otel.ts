// Reads settings for traces from the variables of OpenTelemetry's specification. These variables are set for
// all programs on a machine, so they apply only if the file has `telemetry`. The file takes precedence. Pure.

type Env = Readonly<Record<string, string | undefined>>
type Fields = Readonly<Record<string, unknown>>

interface FromEnvironment {
  /** `telemetry` with the environment's settings; undefined if the environment switches tracing off. */
  readonly telemetry: Fields | undefined
  /** Variables by the setting that they set. */
  readonly variables: ReadonlyMap<string, string>
  /** Problems, as complete lines for a person. */
  readonly problems: readonly string[]
}

/** Share of sampled calls (null: read from OTEL_TRACES_SAMPLER_ARG), and true if a trace's caller decides. */
const SAMPLERS: Readonly<Record<string, readonly [share: number | null, followCaller: boolean]>> = {
  always_on: [1, false],
  always_off: [0, false],
  traceidratio: [null, false],
  parentbased_always_on: [1, true],
  parentbased_always_off: [0, true],
  parentbased_traceidratio: [null, true],
}
const PROTOCOL = 'http/protobuf'

/** The variable for traces takes precedence over the one for all signals. */
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT']
const HEADERS = ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS']
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']

export function withOtelVariables(file: Fields, env: Env): FromEnvironment {
  const variables = new Map<string, string>()
  const problems: string[] = []
  const telemetry: Record<string, unknown> = { ...file }
  const valueIn = (name: string | undefined) => (name && env[name]?.trim()) || undefined
  const firstSet = (names: readonly string[]) => names.find((name) => valueIn(name) !== undefined)
  const isOff = valueIn('OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  if (isOff || valueIn('OTEL_TRACES_EXPORTER') === 'none')
    return { telemetry: undefined, variables, problems }
  const put = (name: string, setting: string, value: unknown) => {
    if (file[setting] !== undefined) return
    telemetry[setting] = value
    variables.set(`telemetry.${setting}`, name)
  }

  const endpoint = firstSet(ENDPOINTS)
  if (endpoint && file.endpoint === undefined && file.traces_endpoint === undefined) {
    put(endpoint, endpoint === ENDPOINTS[0] ? 'traces_endpoint' : 'endpoint', valueIn(endpoint))
    const protocol = firstSet(PROTOCOLS)
    if (protocol && valueIn(protocol) !== PROTOCOL)
      problems.push(
        `${protocol}: must be ${PROTOCOL}, the only protocol supported here; or set telemetry.endpoint in the file`,
      )
  }
  const headers = firstSet(HEADERS)
  if (headers) put(headers, 'headers', `$${headers}`)

  const attributes = pairsIn(valueIn('OTEL_RESOURCE_ATTRIBUTES') ?? '')
  const { 'service.name': service, ...further } = attributes
  if (Object.keys(further).length > 0) put('OTEL_RESOURCE_ATTRIBUTES', 'attributes', further)
  const named = valueIn('OTEL_SERVICE_NAME')
  if (named) put('OTEL_SERVICE_NAME', 'service', named)
  else if (service) put('OTEL_RESOURCE_ATTRIBUTES', 'service', service)

  const sampler = valueIn('OTEL_TRACES_SAMPLER')
  if (sampler && file.sample === undefined && file.follow_caller === undefined) {
    const [share, followCaller] = SAMPLERS[sampler] ?? []
    if (share === undefined)
      problems.push(`OTEL_TRACES_SAMPLER: must be one of ${Object.keys(SAMPLERS).join(', ')}`)
    else {
      const isGiven = share === null
      const given = isGiven ? Number(valueIn('OTEL_TRACES_SAMPLER_ARG') ?? 1) : share
      put(isGiven ? 'OTEL_TRACES_SAMPLER_ARG' : 'OTEL_TRACES_SAMPLER', 'sample', given)
      put('OTEL_TRACES_SAMPLER', 'follow_caller', followCaller)
    }
  }
  return { telemetry, variables, problems }
}

/** Parses comma-separated `name=value` pairs with percent-encoded values, as in W3C Baggage. */
export function pairsIn(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=')
    return at > 0 ? [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]] : []
  })
  return Object.fromEntries(pairs)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
