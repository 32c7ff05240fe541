// PURE-06: Other methods on read paths get 405 with Allow. HEAD gets the headers of GET and ends immediately.

import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  get: step('get'),
  head: step('head'),
  other: step('other'),
}

export const otherMethods = {
  id: 'PURE-06',
  needs: ['read_paths'],
  async exercise(session) {
    const { keys } = session.running
    for (const path of session.target.capabilities.read_paths) {
      await session.ask(steps.get, path, { key: keys.reader })
      await session.ask(steps.head, path, { method: 'HEAD', key: keys.reader })
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
        await session.ask(steps.other, path, {
          method,
          key: keys.reader,
          body: method === 'DELETE' ? null : '{}',
        })
    }
  },
  judge({ evidence }) {
    const of = (name: string) => evidence.exchanges.filter(({ step }) => step === name)
    const got = new Map(of(steps.get.step).map((each) => [each.request.path, each]))
    const same = ['content-type', 'content-length']
    return [
      ...of(steps.head.step).map((head) => {
        const get = got.get(head.request.path)!
        const different = same.filter(
          (name) => head.headers[name] !== get.headers[name] && !Number(head.headers[name]),
        )
        const ok =
          head.end === 'complete' && head.body === '' && head.status === get.status && different.length === 0
        return finding(
          'head-is-like-get',
          ok,
          `HEAD ${head.request.path}`,
          {
            expected: `${get.status}, no body, and the headers of GET`,
            actual: `${endText(head)}, ${head.body.length} bytes, ${different.join(' and ') || 'no header'} differs`,
          },
          [ref(head), ref(get)],
        )
      }),
      ...of(steps.other.step).map((each) =>
        finding(
          'other-methods-are-405',
          each.status === 405 && /\bGET\b/.test(each.headers.allow ?? ''),
          `the answer to ${each.request.method} ${each.request.path}`,
          {
            expected: '405, and GET in Allow',
            actual: `${endText(each)}, Allow: ${each.headers.allow ?? 'none'}`,
          },
          [ref(each)],
        ),
      ),
    ]
  },
} satisfies Check
