// Asks a gateway what a case asks, and says what came of it: what arrived at the provider, what the client got, and whether the
// gateway told of what it did not carry.
import type { Witness } from '../../mocks/library.ts'
import { type Case, type Json, NONCE, type Seen, type Verdict } from './cases.ts'

export interface Place {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly model: string
}

export interface Outcome {
  readonly verdict: Verdict | `refused: ${string}`
  /** How the gateway told; null where it did not. */
  readonly told: string | null
  readonly seen: Seen
}

const MOST_MS = 20_000

export async function ask(
  { ask: members, answer = { say: { text: 'Here.' } }, afterwards, judge }: Case,
  { url, headers, model }: Place,
  witness: Witness,
): Promise<Outcome> {
  witness.clear()
  witness.script(NONCE, [
    { ...answer, times: 1 },
    { say: { text: 'Here.' }, times: 1_000 },
  ])
  const post = (more: Json) => once(url, headers, { model, max_tokens: 20_000, ...more })
  let answered = await post(members)
  if (afterwards && answered.status === 200) {
    const again = await post(afterwards(answered.got))
    answered = { ...answered, status: again.status, text: again.text, headers: again.headers }
  }
  const isMeant = answer.status !== undefined
  if (!isMeant && [401, 403, 404].includes(answered.status))
    throw new Error(`${url} cannot be asked: ${answered.status} ${answered.text.slice(0, 300)}`)
  const inferences = witness.entries().filter(({ kind }) => kind === 'inference')
  const seen: Seen = { ...answered, sent: inferences.at(-1)?.body ?? {} }
  if (inferences.length === 0) {
    const words = String(seen.got?.error?.message ?? seen.text)
      .replaceAll(/\s+/g, ' ')
      .slice(0, 80)
    // A fault of the gateway itself does not show what is in the way.
    return { verdict: `refused: ${seen.status} ${words}`, told: seen.status < 500 ? words : null, seen }
  }
  return { verdict: careful(judge, seen), told: tellings(seen.headers), seen }
}

/** What has another shape than any that is looked for did not come through. */
function careful(judge: Case['judge'], seen: Seen): Verdict {
  try {
    return judge(seen)
  } catch {
    return 'lost'
  }
}

/** Headers that speak of what is lost, by any gateway's name for it. */
function tellings(headers: Headers): string | null {
  const found = [...headers].filter(([name]) => /loss|drop|unsupported|ignored|warning/i.test(name))
  return found.map(([, value]) => value).join(', ') || null
}

async function once(url: string, headers: Place['headers'], body: Json): Promise<Omit<Seen, 'sent'>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(MOST_MS),
  })
  let text = ''
  let isWhole = true
  try {
    const decoder = new TextDecoder()
    for await (const part of response.body ?? []) text += decoder.decode(part, { stream: true })
  } catch {
    isWhole = false
  }
  return { status: response.status, headers: response.headers, text, isWhole, got: read(text) }
}

function read(text: string): Json {
  const parse = (json: string): Json => {
    try {
      return JSON.parse(json)
    } catch {
      return null
    }
  }
  if (!/^(event|data|:)/m.test(text) || /^\s*[[{]/.test(text)) return parse(text)
  return [...text.matchAll(/^data: ?(.*)$/gm)].map(([, data]) => parse(data!)).filter(Boolean)
}
