// The common part of calls on the general way, whose bytes move through a reader (`pipeline.ts`) or unread
// (`../passthrough/call.ts`). Commits the opening before the first byte leaves, records each further attempt, and
// closes the record once, also after a fault of the gateway.
import type { ServerResponse } from 'node:http'
import { elapsedSince } from '../core/artifact.ts'
import type { Call, Route } from '../core/call.ts'
import { asGatewayError, GatewayError } from '../core/errors.ts'
import type { Admitted, ErrorWording } from '../http/endpoint.ts'
import { replyError } from '../http/reply.ts'
import { detached, REPORTED, stray } from '../shared/boundary.ts'
import type { Write } from '../store/writes.ts'
import { type Closing, maskedEnd } from './answer.ts'
import type { CallContext } from './context.ts'
import { maskingOwn } from './find-route.ts'

/** Returns the refusal of a call whose opening could not be written. */
export const unrecorded = (cause: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'The call was refused: it could not be recorded.', { cause })

export abstract class GeneralCall<Exchange extends { abort(): void }> {
  response: ServerResponse
  readonly context: CallContext
  protected readonly admitted: Admitted
  protected state: 'arriving' | 'on record' | 'closed' = 'arriving'
  /** True once the client has disconnected. */
  protected isGone = false
  /** The open exchange with a provider. Aborted when the client disconnects. */
  protected exchange: Exchange | null = null
  /** The call and its route as they go on record. */
  call!: Call
  route!: Route
  /** Arrival in ms of the `performance` clock. */
  protected readonly arrival: number

  constructor(admitted: Admitted, response: ServerResponse, context: CallContext, arrival: number) {
    this.admitted = admitted
    this.response = response
    this.context = maskingOwn(context, admitted.caller.credential)
    this.arrival = arrival
  }

  protected abstract readonly wording: ErrorWording

  /** Sends the request, once the call is on record. */
  protected abstract send(): void

  /** Closes a recorded call that the gateway failed with this error. */
  protected abstract closeFailed(error: GatewayError): void

  /** Records the call before sending its first byte. Refuses the call if the write fails. */
  protected record(): void {
    this.context.store.open({ kind: 'open', call: this.call, route: this.route }, (cause) => {
      if (cause !== null) this.refuse(unrecorded(cause))
      else {
        this.state = 'on record'
        this.guard(() => this.send())(null)
      }
    })
  }

  /** Records that an attempt has ended and the next one follows. Returns the cost of the ended one. */
  protected async recordNext(next: Omit<Extract<Write, { kind: 'next' }>, 'kind' | 'id' | 'at' | 'cost'>) {
    const { store, price, now, mask } = this.context
    const [at, ended] = [now(), maskedEnd(next.ended, mask)]
    const cost = price(ended.target, ended.tokens, at)
    await store.write({ ...next, kind: 'next', id: this.call.id, at, ended, cost })
    return { ended, cost }
  }

  /** Refuses a call that is not recorded. */
  refuse(error: unknown): typeof REPORTED {
    return this.admitted.refuse(error)
  }

  /**
   * Ends a recorded call after a fault of the gateway, or if the request cannot be sent as requested. Possible costs
   * stay recorded, and nothing is left running.
   */
  fault(thrown: unknown): typeof REPORTED {
    try {
      this.#fail(thrown)
    } catch (second) {
      stray(second)
      this.response.destroy()
    }
    return REPORTED
  }

  #fail(thrown: unknown): void {
    const error = asGatewayError(thrown)
    if (this.state === 'arriving') {
      this.refuse(thrown)
      this.leave()
      return
    }
    if (error.status >= 500) this.context.onFault(thrown, this.call.id)
    if (this.state === 'closed') return
    replyError(this.response, error, this.call.id, this.wording)
    this.closeFailed(error)
    this.leave()
  }

  readonly broken = (error: unknown): typeof REPORTED => this.fault(error)

  guard<Given>(step: (given: Given) => void): (given: Given) => void {
    return (given) => {
      try {
        step(given)
      } catch (thrown) {
        this.fault(thrown)
      }
    }
  }

  /** Closes the call, and its record unless the record stays open. */
  protected over(closing: Closing | null): void {
    this.state = 'closed'
    if (closing) detached(this.context.store.write(closing), this.broken)
    this.admitted.over()
  }

  /** Ends the call because the client has disconnected. */
  leave(): void {
    this.isGone = true
    this.exchange?.abort()
  }

  /** Returns milliseconds since the call arrived. */
  elapsed(): number {
    return elapsedSince(this.arrival)
  }
}
