// Shared parts of the requests that promises.test.ts sends in every dialect. Each dialect's folder has its
// own requests.
import fc from 'fast-check'
import { unit } from '../test/test-json-unit.ts'

export interface Fuzz {
  /** Headers that identify a client of the dialect. */
  readonly headers: Readonly<Record<string, string>>
  /** Path and query of a call. A path that matches `count` counts tokens. */
  readonly path: fc.Arbitrary<string>
  readonly count?: RegExp
  /** The provider's answer to a counting request. */
  readonly counted?: string
  /** Paths of the provider that the gateway does not have. */
  readonly beside: readonly string[]
  readonly body: fc.Arbitrary<object>
  /** Returns the request id in an error, and `shaped: true` if the error has the dialect's format. */
  readonly error: (json: any, status: number) => { shaped: boolean; id: string }
  /** True if every event of a stream reports the usage so far. */
  readonly countsAlways?: true
}

export const json = fc.jsonValue({ stringUnit: unit })
export const text = fc.string({ unit: 'binary' })
export const model = fc.constantFrom(
  'auto',
  'auto',
  'auto',
  'alpha/m',
  'alpha/n',
  'alpha/',
  'nowhere',
  '__proto__',
  'gpt-x',
)
export const streamed = fc.constantFrom(true, false, null)
export const openAiError: Fuzz['error'] = ({ error, request_id: id, ...rest }) => ({
  shaped:
    Object.keys(rest).length === 0 &&
    Object.keys(error).join() === 'message,type,param,code' &&
    error.message !== '',
  id,
})
