// `stream_options`, used on both sides of this dialect: clients request usage there, and so does the gateway.
import { spliceMembers } from '../../json/splice.ts'

/** Returns the member as JSON text with usage switched on; every other option keeps its bytes. */
export const askForUsage = (before: string | undefined): string =>
  spliceMembers(before === undefined || before === 'null' ? '{}' : before, { include_usage: 'true' })
