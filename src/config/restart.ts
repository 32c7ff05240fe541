// Settings that a running gateway cannot change. Pure.
import type { Config } from './load.ts'

/** Settings that a running gateway cannot change, each with a function for the value to compare. */
const FIXED: Readonly<Record<string, (config: Config) => unknown>> = {
  'server.host': ({ server }) => server.host,
  'server.port': ({ server }) => server.port,
  'server.headers_timeout': ({ server }) => server.headers_timeout,
  'server.request_timeout': ({ server }) => server.request_timeout,
  data: ({ data }) => data,
  durability: ({ durability }) => durability,
  'retention.rows': ({ retention }) => retention.rows,
  'retention.days': ({ retention }) => retention.days,
  'retention.bytes': ({ retention }) => retention.bytes,
  'artifacts.keep': ({ artifacts }) => artifacts.keep,
  'artifacts.bytes': ({ artifacts }) => artifacts.bytes,
  'responses.store': ({ responses }) => JSON.stringify(responses.store),
  'keep.days': ({ keep }) => keep.days,
  fleet: ({ fleet }) => JSON.stringify(fleet),
  telemetry: ({ telemetry }) => JSON.stringify(telemetry),
}

export const needsRestart = (setting: string): boolean =>
  Object.keys(FIXED).some((name) => setting === name || setting.startsWith(`${name}.`))

/** Returns the changed settings that need a restart. */
export const needRestart = (before: Config, after: Config): string[] =>
  Object.entries(FIXED)
    .filter(([, value]) => value(before) !== value(after))
    .map(([name]) => name)
