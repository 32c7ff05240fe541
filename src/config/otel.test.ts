// The variables of OpenTelemetry's specification: they add to the file's settings, and do nothing without
// `telemetry` in the file.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConfigError } from '../core/errors.ts'
import { parseConfig } from './load.ts'

const REST =
  'providers: { alpha: { dialect: chat, base_url: "http://127.0.0.1:9" } }\nroutes: { auto: { targets: [ { model: alpha/a } ] } }\n'
const read = (telemetry: string, env: Record<string, string>) =>
  parseConfig(`${telemetry}\n${REST}`, 'w.yaml', { env })
const telemetryOf = (telemetry: string, env: Record<string, string>) => read(telemetry, env).config.telemetry
const problemsOf = (telemetry: string, env: Record<string, string>): readonly string[] => {
  try {
    read(telemetry, env)
    return []
  } catch (error) {
    return (error as ConfigError).problems
  }
}
const DEFAULTS = {
  endpoint: 'http://127.0.0.1:4318',
  service: 'waybill',
  attributes: {},
  parent: 'trace',
  sample: 1,
  follow_caller: true,
  content: false,
  proposed_cost: false,
}
const ENV = {
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
  OTEL_EXPORTER_OTLP_HEADERS: 'x-key=sesame%21,x-b=2',
  OTEL_SERVICE_NAME: 'gateway',
  OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=a%20b',
  OTEL_TRACES_SAMPLER: 'traceidratio',
  OTEL_TRACES_SAMPLER_ARG: '0.25',
}

test('environment settings apply only if the file contains `telemetry`; otherwise nothing is sent (TRACE-06)', () => {
  assert.equal(telemetryOf('', ENV), undefined)
  assert.deepEqual(telemetryOf('telemetry: {}', {}), DEFAULTS)
  const { config, telemetryHeaders } = read('telemetry: {}', ENV)
  assert.deepEqual(config.telemetry, {
    ...DEFAULTS,
    endpoint: 'http://collector:4318',
    headers: '$OTEL_EXPORTER_OTLP_HEADERS',
    service: 'gateway',
    attributes: { 'deployment.environment.name': 'a b' },
    sample: 0.25,
    follow_caller: false,
  })
  assert.equal(telemetryHeaders, ENV.OTEL_EXPORTER_OTLP_HEADERS)
})

test('the file takes precedence over the environment, and trace variables take precedence over variables for all signals (TRACE-06)', () => {
  const file = 'telemetry: { endpoint: "http://mine:1", service: mine, sample: 0.5, attributes: { a: b } }'
  const mine = telemetryOf(file, { ...ENV, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces/x' })
  assert.deepEqual(mine, {
    ...DEFAULTS,
    endpoint: 'http://mine:1',
    headers: '$OTEL_EXPORTER_OTLP_HEADERS',
    service: 'mine',
    attributes: { a: 'b' },
    sample: 0.5,
  })
  const traces = telemetryOf('telemetry: {}', {
    ...ENV,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces/x',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-t=1',
  })
  assert.equal(traces?.traces_endpoint, 'http://traces/x')
  assert.equal(traces?.headers, '$OTEL_EXPORTER_OTLP_TRACES_HEADERS')
  assert.equal(
    telemetryOf('telemetry: {}', { OTEL_RESOURCE_ATTRIBUTES: 'service.name=other' })?.service,
    'other',
  )
})

test('all samplers are recognized, and OTEL_SDK_DISABLED and OTEL_TRACES_EXPORTER=none switch tracing off (TRACE-06)', () => {
  for (const [name, sample, follow_caller] of [
    ['always_on', 1, false],
    ['always_off', 0, false],
    ['parentbased_always_on', 1, true],
    ['parentbased_always_off', 0, true],
    ['parentbased_traceidratio', 0.1, true],
  ] as const) {
    const found = telemetryOf('telemetry: {}', { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '0.1' })
    assert.deepEqual([found?.sample, found?.follow_caller], [sample, follow_caller], name)
  }
  const full = 'telemetry: { endpoint: "http://mine:1" }'
  assert.equal(telemetryOf(full, { OTEL_SDK_DISABLED: 'true' }), undefined)
  assert.equal(telemetryOf(full, { OTEL_TRACES_EXPORTER: 'none' }), undefined)
  assert.ok(telemetryOf(full, { OTEL_SDK_DISABLED: 'false', OTEL_TRACES_EXPORTER: 'otlp' }))
})

test('errors name an invalid variable and any settings that need `telemetry`', () => {
  for (const [env, problem] of [
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
      /^OTEL_EXPORTER_OTLP_ENDPOINT: telemetry\.endpoint: /,
    ],
    [{ OTEL_TRACES_SAMPLER: 'xray' }, /^OTEL_TRACES_SAMPLER: must be one of always_on, /],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'x' },
      /^OTEL_TRACES_SAMPLER_ARG: telemetry\.sample: /,
    ],
    [{ ...ENV, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL: must be http\/protobuf/],
    [
      { OTEL_EXPORTER_OTLP_HEADERS: 'nothing' },
      /environment variable OTEL_EXPORTER_OTLP_HEADERS must have the form/,
    ],
  ] as [Record<string, string>, RegExp][]) {
    const [first, ...more] = problemsOf('telemetry: {}', env)
    assert.match(first ?? '', problem)
    assert.deepEqual(more, [])
  }
  assert.match(problemsOf('telemetry: { content: true }', {})[0]!, /telemetry\.content: needs `artifacts/)
  const marked = REST.replace('dialect: chat', 'dialect: chat, trace: true')
  assert.throws(
    () => parseConfig(marked, 'w.yaml', { env: {} }),
    ({ problems }: ConfigError) => /providers\.alpha\.trace: needs `telemetry`/.test(problems[0]!),
  )
  const off = { OTEL_SDK_DISABLED: 'true' }
  assert.ok(parseConfig(`telemetry: {}\n${marked}`, 'w.yaml', { env: off }))
})
