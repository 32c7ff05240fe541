// Mocks of the providers' reports, with pages in the format of the three APIs, over a real socket.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** A provider's bill for one model on one day. */
export interface BilledDay {
  readonly day: string
  readonly model: string
  readonly usd: number
  readonly input: number
  readonly output: number
}

/** Number of days on one page. Anthropic and OpenAI send a week by default. */
const PAGE_DAYS = 7

const paged = (days: readonly string[], page: number, bucket: (day: string) => object) => {
  const shown = days.slice(page * PAGE_DAYS, (page + 1) * PAGE_DAYS)
  const more = days.length > (page + 1) * PAGE_DAYS
  return { data: shown.map(bucket), has_more: more, next_page: more ? `page_${page + 1}` : null }
}

/** Answers requests for the reports of all three providers. Returns null for any other path. */
function answerTo(url: URL, billed: readonly BilledDay[]): object | null {
  const days = [...new Set(billed.map(({ day }) => day))].toSorted()
  const of = (day: string) => billed.filter((each) => each.day === day)
  const page = Number(url.searchParams.get('page')?.slice('page_'.length) ?? 0)
  switch (url.pathname) {
    case '/v1/organizations/usage_report/messages':
      return paged(days, page, (day) => ({
        starting_at: `${day}T00:00:00Z`,
        results: of(day).map(({ model, input, output }) => ({
          model,
          uncached_input_tokens: input,
          cache_read_input_tokens: 0,
          cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
          output_tokens: output,
        })),
      }))
    case '/v1/organizations/cost_report':
      return paged(days, page, (day) => ({
        starting_at: `${day}T00:00:00Z`,
        results: of(day).map(({ model, usd }) => ({
          model,
          amount: String(usd * 100),
          currency: 'USD',
          cost_type: 'tokens',
        })),
      }))
    case '/organization/usage/completions':
      return paged(days, page, (day) => ({
        start_time: Date.parse(day) / 1000,
        results: of(day).map(({ model, input, output }) => ({
          model,
          input_tokens: input,
          output_tokens: output,
        })),
      }))
    case '/organization/costs':
      return paged(days, page, (day) => ({
        start_time: Date.parse(day) / 1000,
        results: of(day).flatMap(({ model, usd }) =>
          ['input', 'output'].map((kind) => ({
            line_item: `${model}-2026-03-05, ${kind}`,
            amount: { value: usd / 2, currency: 'usd' },
          })),
        ),
      }))
    case '/activity': {
      const date = url.searchParams.get('date')!
      const data = of(date).map(({ model, usd, input, output }) => ({
        date: `${date} 00:00:00`,
        model,
        usage: usd,
        byok_usage_inference: 0,
        prompt_tokens: input,
        completion_tokens: output,
      }))
      return { data }
    }
    default:
      return null
  }
}

/**
 * Starts the mocks. `odd`: returns another answer in place of the usual one. Refuses requests without a key.
 */
export async function reportServer(
  t: TestContext,
  billed: readonly BilledDay[],
  odd: (url: URL) => object | string | null = () => null,
): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://127.0.0.1')
    asked.push(`${request.method} ${url.pathname}`)
    const hasKey = request.headers['x-api-key'] === 'key' || request.headers.authorization === 'Bearer key'
    const body = odd(url) ?? answerTo(url, billed)
    const status = !hasKey ? 401 : body === null ? 404 : 200
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}
