// `stream_options`, used on both sides of this dialect. Clients and the gateway request usage there.
import { inside } from '../tuning.ts'

/** Switches usage on. Every other option keeps its bytes. */
export const askForUsage = inside({ include_usage: 'true' })
