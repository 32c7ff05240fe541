// Which settings a running gateway cannot change. Pure.
import type { Config } from '../config.ts'

/** The settings that differ and that a running gateway cannot change. */
export function needRestart(before: Config, after: Config): string[] {
  const fixed = ({ server, data, durability, retention, artifacts, fleet, telemetry }: Config) => ({
    'server.host': server.host,
    'server.port': server.port,
    'server.headers_timeout': server.headers_timeout,
    'server.request_timeout': server.request_timeout,
    data,
    durability,
    'retention.rows': retention.rows,
    'retention.days': retention.days,
    'retention.bytes': retention.bytes,
    'artifacts.keep': artifacts.keep,
    'artifacts.bytes': artifacts.bytes,
    fleet: JSON.stringify(fleet),
    telemetry: JSON.stringify(telemetry),
  })
  const [old, wanted] = [fixed(before), fixed(after)]
  return Object.keys(old).filter((name) => old[name as keyof typeof old] !== wanted[name as keyof typeof old])
}
