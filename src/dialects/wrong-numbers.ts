// Refuses a translated request with a wrong type in a number field. A provider would refuse the value, but a
// translation would drop it silently. This file has the members' names and names no dialect.
import { GatewayError } from '../core/errors.ts'

const NUMBERS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'temperature', 'top_p', 'top_k']

/** Throws `invalid_request` if a number field holds another type. */
export function refuseWrongNumbers(text: string): void {
  const json: Record<string, unknown> = JSON.parse(text)
  const param = NUMBERS.find((name) => json[name] != null && typeof json[name] !== 'number')
  if (param === undefined) return
  const said = JSON.stringify(json[param]).slice(0, 40)
  throw new GatewayError('invalid_request', `${param}: expected a number, received ${said}`, { param })
}
