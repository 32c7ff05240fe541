// Refuses values in number fields of a request that are not numbers. A provider would refuse them, but a
// translation would drop them silently, so a translated request is refused here. Knows the members by name,
// and no dialect.
import { GatewayError } from '../core/errors.ts'

const NUMBERS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'temperature', 'top_p', 'top_k']

/** Throws `invalid_request` if one of them is not a number. */
export function refuseWrongNumbers(text: string): void {
  const json: Record<string, unknown> = JSON.parse(text)
  const param = NUMBERS.find((name) => json[name] != null && typeof json[name] !== 'number')
  if (param === undefined) return
  const said = JSON.stringify(json[param]).slice(0, 40)
  throw new GatewayError('invalid_request', `${param}: expected a number, received ${said}`, { param })
}
