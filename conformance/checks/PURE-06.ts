// PURE-06: Other methods on read paths get 405 with Allow; HEAD ends at once with GET's headers.
import { type Check, finding } from '../check.ts'
import { ref } from '../lookup.ts'

export const otherMethods = {
  id: 'PURE-06',
  needs: ['read_paths'],
  async exercise(session) {
    const { keys } = session.running
    for (const path of session.target.capabilities.read_paths) {
      await session.ask('get', path, { key: keys.reader })
      await session.ask('head', path, { method: 'HEAD', key: keys.reader })
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
        await session.ask('other', path, {
          method,
          key: keys.reader,
          body: method === 'DELETE' ? null : '{}',
        })
    }
  },
  judge({ evidence }) {
    const of = (label: string) => evidence.exchanges.filter((each) => each.label === label)
    const got = new Map(of('get').map((each) => [each.request.path, each]))
    const same = ['content-type', 'content-length']
    return [
      ...of('head').map((head) => {
        const get = got.get(head.request.path)!
        const different = same.filter(
          (name) => head.headers[name] !== get.headers[name] && !Number(head.headers[name]),
        )
        const ok =
          head.end === 'complete' && head.body === '' && head.status === get.status && different.length === 0
        return finding(
          'head-is-like-get',
          ok,
          `HEAD ${head.request.path}: ${head.status}, ${head.body.length} bytes of body, ${different.join(' and ') || 'no header'} differs from GET`,
          [ref(head), ref(get)],
        )
      }),
      ...of('other').map((each) =>
        finding(
          'other-methods-are-405',
          each.status === 405 && /\bGET\b/.test(each.headers.allow ?? ''),
          `${each.request.method} ${each.request.path}: status ${each.status}, Allow: ${each.headers.allow ?? 'none'}`,
          [ref(each)],
        ),
      ),
    ]
  },
} satisfies Check
