// PASS-02: Relayed requests and answers arrive unchanged. The content of a file arrives byte for byte, and JSON
// arrives with the same values. (Waybill: every byte is unchanged, except the name of a model that the gateway
// knows, lists and addresses of PASS-03, and, as in KEEP-02, a provider's key in an answer that is read before it
// is sent: JSON about files and batches, and other JSON of at most 64 KiB. Files, sounds, streams and longer
// answers pass through unread, also with a key in them. Memory is bounded.)

import { isRefused, refs } from '../dialects/lookup.ts'
import {
  arrivedOf,
  contentOf,
  fileIn,
  isSameBody,
  keepsJson,
  postJson,
  RELAYED_CALLS,
  uploadOf,
} from '../dialects/passthrough.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'

const steps = {
  call: step<{ nonce: string }>('relayed JSON'),
  upload: step<{ nonce: string }>('upload'),
  content: step<{ nonce: string }>('content of the file'),
}

export const relayedIsUnchanged = {
  id: 'PASS-02',
  needs: ['passthrough', 'variant:passthrough'],
  async exercise(session) {
    const { endpoints } = session.target.capabilities.passthrough!
    await session.another('passthrough')
    const nonce = session.nonce()
    if (endpoints.includes('moderations')) {
      const { path, body } = RELAYED_CALLS.moderations
      await session.ask(steps.call.with({ nonce }), path, postJson(body(nonce)))
    }
    if (!endpoints.includes('files')) return
    const id = fileIn(await session.ask(steps.upload.with({ nonce }), '/v1/files', uploadOf(nonce)))
    if (id !== null) await session.ask(steps.content.with({ nonce }), `/v1/files/${id}/content`)
  },
  judge({ evidence, waybill }) {
    const uploads = steps.upload.in(evidence)
    const sent = [...steps.call.in(evidence), ...uploads].flatMap((exchange) => {
      const { nonce } = exchange.details
      const isUpload = uploads.includes(exchange)
      const entries = arrivedOf(evidence, nonce).filter(
        ({ method, endpoint }) => method === 'POST' && exchange.request.path.endsWith(endpoint),
      )
      // A gateway may try another key or another provider after a refusal.
      const entry = entries.findLast((each) => !isRefused(each)) ?? entries[0]
      if (!entry)
        return [
          doubt('request-is-unchanged', `It did not reach the mock: ${endText(exchange)}.`, refs(exchange)),
        ]
      const body = typeof entry.body === 'string' ? entry.body : JSON.stringify(entry.body)
      const means = isUpload
        ? body.includes(contentOf(String(nonce)))
        : keepsJson(exchange.request.body, body)
      const arrived = finding(
        'request-is-unchanged',
        waybill ? isSameBody(exchange.request, entry) : means,
        isUpload ? 'the form with the file, as the provider got it' : 'the JSON that the provider got',
        {
          expected: waybill ? 'every byte' : 'the same content',
          actual: means ? 'the same content' : 'other content',
        },
        refs(exchange, entry),
      )
      if (isUpload) return [arrived]
      const { body: answered } = entry.answer
      const isSame = exchange.body === answered
      const isAlike = isSame || keepsJson(answered, exchange.body)
      return [
        arrived,
        finding(
          'answer-is-unchanged',
          waybill ? isSame : isAlike,
          "the provider's answer, as the client got it",
          {
            expected: waybill ? 'every byte' : 'the same JSON',
            actual: isAlike ? 'the same JSON' : endText(exchange),
          },
          refs(exchange, entry),
        ),
      ]
    })
    const read = steps.content
      .in(evidence)
      .map((exchange) =>
        finding(
          'file-comes-back-unchanged',
          exchange.status === 200 && exchange.body === contentOf(String(exchange.details.nonce)),
          'the content of a file that was uploaded',
          { expected: 'every byte', actual: `${endText(exchange)}, ${exchange.body.length} characters` },
          refs(exchange),
        ),
      )
    return [...sent, ...read]
  },
} satisfies Check
