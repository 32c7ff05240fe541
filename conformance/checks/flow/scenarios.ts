// Checks of streams from scenarios of the mocks: how they are cut into chunks, what is between their events, and
// how they end.
import { everyModel } from '../../dialects/lookup.ts'
import { step } from '../../evidence/evidence.ts'
import { callEach, each, everything, family, thenCoolDown } from '../check.ts'
import { endsInError, sameAs } from '../expect.ts'
import { readable, sameAnswer } from './parts.ts'

const check = family()

const ofModel = step<{ model: string; scenario: string }>('call')
const ofScenario = step<{ scenario: string }>('call')

/** Makes a streamed call. */
const streamed = ({ scenario, ...call }: { model?: string; scenario: string }) => ({
  ...call,
  stream: true,
  script: [{ scenario }],
  timeout: 30_000,
})

/**
 * Pieces of a stream, in base64. Consecutive writes may arrive together, but not with a pause between them. Each
 * piece ends inside a character of more than one byte, or inside the word `data`.
 */
const PIECES = [
  'ZGE=',
  'dGE6IHsiaWQiOiJjaGF0Y21wbC1zeW50aGV0aWMiLCJjcmVhdGVkIjowLCJtb2RlbCI6InN5bnRoZXRpYyIsIm9iamVjdCI6ImNoYXQuY29tcGxldGlvbi5jaHVuayIsImNob2ljZXMiOlt7ImluZGV4IjowLCJkZWx0YSI6eyJyb2xlIjoiYXNzaXN0YW50IiwiY29udGVudCI6Im5hww==',
  'r3ZlIn0sImZpbmlzaF9yZWFzb24iOm51bGx9XX0KCmRh',
  'dGE6IHsiaWQiOiJjaGF0Y21wbC1zeW50aGV0aWMiLCJjcmVhdGVkIjowLCJtb2RlbCI6InN5bnRoZXRpYyIsIm9iamVjdCI6ImNoYXQuY29tcGxldGlvbi5jaHVuayIsImNob2ljZXMiOlt7ImluZGV4IjowLCJkZWx0YSI6eyJyb2xlIjoiYXNzaXN0YW50IiwiY29udGVudCI6IiDw',
  'nw==',
  'mQ==',
  'giAifSwiZmluaXNoX3JlYXNvbiI6bnVsbH1dfQoKZGE=',
  'dGE6IHsiaWQiOiJjaGF0Y21wbC1zeW50aGV0aWMiLCJjcmVhdGVkIjowLCJtb2RlbCI6InN5bnRoZXRpYyIsIm9iamVjdCI6ImNoYXQuY29tcGxldGlvbi5jaHVuayIsImNob2ljZXMiOlt7ImluZGV4IjowLCJkZWx0YSI6e30sImZpbmlzaF9yZWFzb24iOiJzdG9wIn1dfQoKZGE=',
  'dGE6IFtET05FXQoK',
]

check('FLOW-02', {
  exercise: [
    callEach(
      ofModel,
      { model: everyModel, scenario: ['per-byte', 'split-utf8', 'split-data', 'crlf'] },
      streamed,
    ),
    async (session) => {
      const events = PIECES.flatMap((base64) => [{ base64 }, { wait: 10 }])
      if (session.dialect.name === 'chat')
        await session.chat(step('split slowly'), { stream: true, script: [{ events }], timeout: 30_000 })
    },
  ],
  judge: each(everything, ({ evidence, exchange }) => sameAnswer(evidence, exchange)),
})

check('FLOW-04', {
  exercise: callEach(ofModel, { model: everyModel, scenario: ['comments', 'pings'] }, streamed),
  judge: each(ofModel, ({ evidence, exchange }) => [
    sameAnswer(evidence, exchange),
    readable(evidence, exchange),
  ]),
})

const cut = step<{ model: string; scenario: string }>('the provider cuts the stream')

check('FLOW-06', {
  hostile: true,
  timeout: 120_000,
  exercise: callEach(
    cut,
    { model: everyModel, scenario: ['cut-after-2', 'cut-in-utf8'] },
    streamed,
    thenCoolDown(),
  ),
  judge: each(cut, (looked) => endsInError('cut-is-visible', looked)),
})

check('FLOW-07', {
  exercise: callEach(
    ofScenario,
    { scenario: ['plain', 'tools', 'finish-length', 'finish-content-filter'] },
    streamed,
  ),
  judge: each(ofScenario, (looked) => sameAs('one-end', 'end', looked)),
})

check('FLOW-08', {
  exercise: callEach(ofScenario, { scenario: ['tools', 'tools-parallel'] }, streamed),
  judge: each(ofScenario, (looked) => sameAs('same-tool-calls', 'tools', looked)),
})
