// PASS-03: Only the client key that made a file or batch at a provider can reach it, wherever its id is written.
// (Waybill: for other keys, the file, batch or container does not exist, in every place and spelling, also when the
// record of its call is deleted, until it is deleted itself. `unknown_objects` decides about objects without a
// record. Administrators can reach all objects.)

import { writeNonce } from '../../mocks/ledger.ts'
import { refs } from '../dialects/lookup.ts'
import { contentOf, fileIn, postJson, uploadOf } from '../dialects/passthrough.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { step, stepText } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'

const steps = {
  upload: step<{ nonce: string }>('upload'),
  own: step<{ what: string }>('the owner'),
  other: step<{ what: string }>('another key'),
  list: step('list of another key'),
}

const READS = [
  ['GET', ''],
  ['GET', '/content'],
  ['DELETE', ''],
] as const

export const filesBelongToTheirKey = {
  id: 'PASS-03',
  needs: ['passthrough', 'variant:passthrough', 'gateway_keys'],
  async exercise(session) {
    const { endpoints } = session.target.capabilities.passthrough!
    const { keys } = await session.another('passthrough')
    if (!endpoints.includes('files')) session.untestable('It relays no files.')
    const nonce = session.nonce()
    const id = fileIn(await session.ask(steps.upload.with({ nonce }), '/v1/files', uploadOf(nonce)))
    if (id === null) return
    const key = keys.other
    await session.ask(steps.list, '/v1/files', { key })
    for (const [method, part] of READS)
      await session.ask(steps.other.with({ what: `${method}${part}` }), `/v1/files/${id}${part}`, {
        method,
        key,
      })
    if (endpoints.includes('batches')) {
      const batch = {
        ...{ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' },
        metadata: { note: writeNonce(session.nonce()) },
      }
      await session.ask(steps.other.with({ what: 'a batch of it' }), '/v1/batches', {
        ...{ ...postJson(JSON.stringify(batch)), key },
      })
    }
    await session.ask(steps.own.with({ what: 'GET' }), `/v1/files/${id}`)
    await session.ask(steps.own.with({ what: 'list' }), '/v1/files')
  },
  judge({ evidence, waybill }) {
    const [upload] = steps.upload.in(evidence)
    const id = upload ? fileIn(upload) : null
    if (!upload || id === null)
      return [
        doubt('foreign-file', `No file was made: ${upload ? endText(upload) : 'no upload'}.`, refs(upload)),
      ]
    const content = contentOf(String(upload.details.nonce))
    const isRefused = ({ status }: Exchange) =>
      status !== null && (waybill ? status === 404 : status >= 400 && status < 500)
    const expected = waybill ? '404' : 'a 4xx'
    return [
      ...steps.own
        .in(evidence)
        .map((exchange) =>
          finding(
            'own-file',
            exchange.status === 200 && exchange.body.includes(id),
            `the file that a key has made: ${stepText(exchange)}, after another key has tried`,
            { expected: 'it is there', actual: endText(exchange) },
            refs(upload, exchange),
          ),
        ),
      ...steps.other
        .in(evidence)
        .map((exchange) =>
          finding(
            'foreign-file',
            isRefused(exchange) && !exchange.body.includes(content),
            `the file of another key: ${stepText(exchange)}`,
            { expected, actual: endText(exchange) },
            refs(upload, exchange),
          ),
        ),
      ...steps.list
        .in(evidence)
        .map((exchange) =>
          finding(
            'foreign-file-is-not-in-the-list',
            !exchange.body.includes(id),
            'the list of files that another key gets',
            { expected: 'without it', actual: exchange.body.includes(id) ? 'with it' : 'without it' },
            refs(upload, exchange),
          ),
        ),
    ]
  },
} satisfies Check
