// `stream_options`, which both sides of this dialect know: clients ask there for usage, and so does the gateway.
import { spliceMembers } from '../../json/splice.ts'

/** The member as JSON text, from the present value: usage is asked for, every other option keeps its bytes. */
export const askForUsage = (before: string | undefined): string =>
  spliceMembers(before === undefined || before === 'null' ? '{}' : before, { include_usage: 'true' })
