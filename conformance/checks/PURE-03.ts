// PURE-03: A read endpoint causes no new request of any kind to a provider, not even for a model list. (Waybill has
// one exception: reads of `/v1/responses/{id}` and of the paths below it are passed on, without an inference, to
// the provider that keeps the response, unless the gateway itself keeps it.)
import type { Check } from '../runner/check.ts'
import { noneArrived } from './window.ts'

export const readsAskNobody = {
  id: 'PURE-03',
  needs: ['read_paths'],
  shares: 'PURE-01',
  judge: ({ evidence }) => [noneArrived(evidence, 'requests of any kind while reading')],
} satisfies Check
