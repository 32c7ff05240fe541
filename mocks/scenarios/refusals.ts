// Scenarios in which the provider refuses or fails with an error status, in its own words. All are synthetic,
// because recordings of most of these statuses were never published (429 from most providers, every 502, 503
// and 529).
import type { ProviderRefusal } from '../provider.ts'
import { refuseLike, type Scenario, type Scene } from './scenario.ts'

const refused = (
  status: number,
  kind: ProviderRefusal,
  description: string,
  message: string,
  headers: Record<string, string> = {},
): Scenario => ({
  description,
  shape: "the provider's own error object",
  play: (scene: Scene) => refuseLike(scene, kind, message, { status, headers }),
})

const busy = 'Too many requests for now. This is a synthetic refusal.'

export const refusals: Readonly<Record<string, Scenario>> = {
  '400': refused(
    400,
    'invalid_request',
    'an invalid request',
    'The request is not valid. This is synthetic.',
  ),
  '401': refused(401, 'bad_key', 'a bad key', 'The API key is not valid. This is synthetic.'),
  '404': refused(404, 'unknown_model', 'an unknown model', 'There is no such model. This is synthetic.'),
  '429': refused(429, 'rate_limited', 'too many requests; try again in 2 s', busy, { 'retry-after': '2' }),
  '429-retry-after': refused(429, 'rate_limited', 'too many requests; try again in 1 s', busy, {
    'retry-after': '1',
  }),
  '429-no-retry-after': refused(429, 'rate_limited', 'too many requests, without `retry-after`', busy),
  '500': refused(500, 'server_error', 'a failure inside', 'The server failed. This is synthetic.'),
  '502': refused(502, 'server_error', 'a failure behind the provider', 'Bad gateway. This is synthetic.'),
  '503': refused(503, 'overloaded', 'not available for now', 'Not available for now. This is synthetic.'),
  '529': refused(529, 'overloaded', 'overloaded', 'Overloaded. This is synthetic.'),
}
