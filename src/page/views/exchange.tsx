// The exchange of a call from its artifact: request and answer at each hop, sizes and times of the chunks,
// and stored bodies. Long bodies are shortened here; the file contains them in full.
import { type ArtifactAnswer, useRead } from '../api.ts'
import * as format from '../format.ts'
import { Copyable, JsonLink, ReadTrouble } from '../parts/said.tsx'
import { hasKeys } from '../sign-in.tsx'

/** Maximum characters of a body that are shown. */
const SHOWN = 4_000

export function ExchangeView({ id }: { id: string }) {
  const path = `/api/usage/request-logs/${encodeURIComponent(id)}/artifact`
  const { data, error } = useRead<ArtifactAnswer>(path)
  if (!data) return error ? <ReadTrouble error={error} /> : <section class="panel tall" aria-busy="true" />
  return (
    <section class="panel">
      <h2>
        Exchange <JsonLink path={path} name={`exchange-${id}`} />
      </h2>
      <h3>The client’s request</h3>
      <p class="note">
        {data.request.method} {data.request.path}, {format.bytes(data.request.bytes)}, with{' '}
        {data.request.fields.join(', ') || 'no fields'}
      </p>
      <Headers headers={data.request.headers} />
      <Body text={data.request.body} label="the request" />
      <h3>The same call again</h3>
      <Copyable text={againOf(data)} label="the curl line of the call" />
      {data.exchanges.map((exchange) => (
        <div key={exchange.n} class="hop">
          <h3>
            {exchange.n}. {exchange.provider} / {exchange.model}
          </h3>
          <p class="note">
            {exchange.request.method} {exchange.request.path}, {format.bytes(exchange.request.bytes)}, sent
            after {format.ms(exchange.at_ms)}
          </p>
          <p class="note">
            {exchange.answer.status === null
              ? 'No answer'
              : `${exchange.answer.status}, ${format.bytes(exchange.answer.bytes)}, began after ${format.ms(exchange.answer.at_ms)}`}
            {exchange.answer.end !== null &&
              `; ${exchange.answer.end} after ${format.ms(exchange.answer.ended_at_ms)}`}
          </p>
          <Chunks answer={exchange.answer} />
          <Headers headers={exchange.answer.headers} />
          <Body text={exchange.answer.body} label="the answer" />
        </div>
      ))}
    </section>
  )
}

function Headers({ headers }: { headers: Readonly<Record<string, string | null>> }) {
  const names = Object.entries(headers)
  if (names.length === 0) return null
  return (
    <details>
      <summary>{names.length} headers</summary>
      <dl class="fields">
        {names.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value ?? <span class="none">not shown</span>}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function Body({ text, label }: { text: string | undefined; label: string }) {
  if (text === undefined) return null
  return (
    <details>
      <summary>Body, {format.count(text.length)} characters</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <pre class="body" tabIndex={0} role="region" aria-label={`Body of ${label}`}>
        {text.slice(0, SHOWN)}
      </pre>
      {text.length > SHOWN && (
        <p class="note">
          It is cut off here. <Download text={text} label={label} />
        </p>
      )}
    </details>
  )
}

function Download({ text, label }: { text: string; label: string }) {
  const save = () => {
    const link = document.createElement('a')
    const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
    link.href = url
    link.download = `${label.replace('the ', '')}.txt`
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 60_000)
  }
  return (
    <button type="button" class="quiet" onClick={save}>
      Download all of {label}
    </button>
  )
}

/** Draws each chunk at its arrival time, with a height proportional to its size. */
function Chunks({ answer }: { answer: ArtifactAnswer['exchanges'][number]['answer'] }) {
  const { chunks, chunks_left_out, ended_at_ms, at_ms } = answer
  if (chunks.length < 2) return null
  const end = Math.max(ended_at_ms ?? 0, chunks.at(-1)!.at_ms)
  const begin = at_ms ?? 0
  const largest = Math.max(...chunks.map(({ bytes }) => bytes))
  const gaps = chunks.slice(1).map(({ at_ms: at }, index) => at - chunks[index]!.at_ms)
  const longest = Math.max(...gaps)
  return (
    <figure class="chunks">
      <svg
        viewBox="0 0 1000 60"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${chunks.length} chunks over ${format.ms(end - begin)}; the longest gap is ${format.ms(longest)}`}
      >
        {chunks.map(({ at_ms: at, bytes }, index) => {
          const height = 6 + (54 * bytes) / largest
          return (
            <rect
              key={index}
              x={(990 * (at - begin)) / Math.max(1, end - begin)}
              y={60 - height}
              width="4"
              height={height}
            />
          )
        })}
      </svg>
      <figcaption class="note">
        {format.count(chunks.length + chunks_left_out)} chunks
        {chunks_left_out > 0 && `, the first ${chunks.length} of them shown`}; the longest gap is{' '}
        {format.ms(longest)}
      </figcaption>
    </figure>
  )
}

/** Returns the client's call as a command to paste, without its key. Includes its body if stored. */
function againOf({ request }: ArtifactAnswer): string {
  const body = request.body ?? `{ ${request.fields.map((name) => `"${name}": …`).join(', ')} }`
  const quoted = `'${body.length > SHOWN ? `${body.slice(0, SHOWN)}…` : body.replaceAll("'", "'\\''")}'`
  return [
    `curl -s ${location.origin}${request.path} -H 'content-type: application/json'`,
    ...(hasKeys() ? ['  -H "authorization: Bearer $WAYBILL_KEY"'] : []),
    `  -d ${quoted}`,
  ].join(' \\\n')
}
