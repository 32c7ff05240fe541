// Answers to data that never becomes a request: broken HTTP, and invalid WebSocket handshakes.
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { idOf } from '../core/call.ts'
import { clock } from '../shared/clock.ts'

const BROKEN: Record<string, [number, string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout'],
  HPE_HEADER_OVERFLOW: [431, 'invalid_request'],
}

/** Answers a request on the bare socket, because no handler receives invalid HTTP or an invalid handshake. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  // Node stores the response in progress in this property. Nothing may be written in the middle of that response.
  const running = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage
  if (error.code === 'ECONNRESET' || !socket.writable || running?.headersSent) {
    socket.destroy()
    return
  }
  const [status, code] = BROKEN[error.code ?? ''] ?? [400, 'invalid_request']
  const reason = error.code === undefined ? error.message : STATUS_CODES[status]
  const message = `The request is invalid: ${reason}.`
  const body = JSON.stringify({
    error: { message, type: 'invalid_request_error', param: null, code },
    request_id: idOf(clock.now()),
  })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}
