// `stream_options`, used on both sides of this dialect. Clients and the gateway request usage there.
import { spliceMembers } from '../../json/splice.ts'

/** Returns `stream_options` as JSON text with usage switched on. Every other option keeps its bytes. */
export const askForUsage = (before: string | undefined): string =>
  spliceMembers(before === undefined || before === 'null' ? '{}' : before, { include_usage: 'true' })
