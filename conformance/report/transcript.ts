// Formats one request of the evidence as markup, as the client or the mock saw it. Pure.
import type { LedgerEntry } from '../../mocks/ledger.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { stepText } from '../evidence/step.ts'
import { block, brief, escapeText } from './markup.ts'

/** Maximum characters of a body shown; the evidence has all of it. */
export const MAX_BODY_LENGTH = 2_000

/** Returns the anchor of `#3` or `@7`; `of` distinguishes the checks. */
export const anchor = (of: string, ref: string): string => `${of}-${ref.replace('#', 'c').replace('@', 'w')}`
export const link = (of: string, ref: string): string =>
  `<a href="#${anchor(of, ref)}">${escapeText(ref)}</a>`

/** Formats an exchange. `ref` as in findings; `again` repeats the request in a shell. */
export function exchangeOf(
  of: string,
  ref: string,
  exchange: Omit<Exchange, 'chunks' | 'utf8'>,
  again: string,
  shown = MAX_BODY_LENGTH,
): string {
  const { request, status, error, end, headers, body, at, end_at } = exchange
  const seen = status === null ? escapeText(error ?? end) : `${status}${end === 'complete' ? '' : `, ${end}`}`
  return `<details class="exchange"><summary><b>${escapeText(ref)}</b> ${escapeText(request.method)} ${escapeText(brief(request.path, 60))} <small>${escapeText(brief(stepText(exchange), 60))}</small> <em>${seen}</em> <small>${Math.round(end_at - at)} ms</small></summary>
${block(again, anchor(of, ref))}
${block(head(headers))}${block(brief(body, shown))}</details>`
}

export function entryLines(
  of: string,
  ref: string,
  entry: Omit<LedgerEntry, 'headers'>,
  shown = MAX_BODY_LENGTH,
): string {
  const { kind, provider, model, stream, problems, answer, credential, body } = entry
  return `<details class="exchange"><summary><b>${escapeText(ref)}</b> ${escapeText(provider)} / ${escapeText(model ?? 'no model')} <small>${kind}${stream ? ', streamed' : ''}</small> <em>${answer.status ?? 'no answer'}</em></summary>
<p class="note" id="${anchor(of, ref)}">key ${credential}; answered from ${escapeText(answer.from)}; ${answer.bytes} bytes${answer.complete ? '' : ', not to the end'}${endOf(entry)}${problems.length > 0 ? `; ${escapeText(problems.join('; '))}` : ''}</p>
${block(brief(JSON.stringify(body, null, 2) ?? '', shown))}${block(brief(answer.body ?? '', shown))}</details>`
}

/**
 * Returns the side that ended the connection before the answer was complete. Older evidence does not say when
 * the mock ended a connection.
 */
const endOf = ({ answer, peer_left_at }: Pick<LedgerEntry, 'answer' | 'peer_left_at'>): string =>
  answer.cut_at != null
    ? '; the mock cut the connection, as the check told it to'
    : peer_left_at === null
      ? ''
      : '; the gateway closed the connection'

const head = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
