// Checks that reads cause no inference and no request, write nothing, and refuse other methods.

import { isDeepStrictEqual } from 'node:util'
import { ref } from '../../dialects/lookup.ts'
import { type Evidence, endText, listed, step } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { type Finding, family, finding, type Told } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { readAll } from '../log/parts.ts'
import { inferencesIn, measuredWindow, noneArrived } from './window.ts'

const check = family()

const readStep = step('read')

/**
 * Returns the finding of a window of reads. The reads must be answered, because unanswered reads prove
 * nothing.
 */
function readsSpentNothing(evidence: Evidence, what: string): Finding[] {
  const reads = evidence.exchanges.filter(({ step }) => step === readStep.step)
  const paths = [...new Set(reads.map(({ request }) => request.path.split('?')[0]!))]
  const silent = paths.filter(
    (path) =>
      !reads.some(
        ({ request, status }) =>
          // The suite followed this redirect. Its destination is also one of the paths.
          request.method === 'GET' &&
          request.path.split('?')[0] === path &&
          status !== null &&
          status >= 200 &&
          status < 400,
      ),
  )
  return [
    finding(
      'reads-are-answered',
      reads.length > 0 && silent.length === 0,
      `${reads.length} reads of ${paths.length} paths`,
      {
        expected: 'an answer to each path',
        actual: silent.length > 0 ? `none to ${silent.join(', ')}` : 'answered',
      },
      reads.filter(({ request }) => silent.includes(request.path.split('?')[0]!)).map(ref),
    ),
    noneArrived(evidence, `inferences while ${what}`, inferencesIn),
  ]
}

/** Calls each read path twice with every method, with its own query and with a foreign query. */
async function readEverything(session: CheckContext): Promise<void> {
  for (const path of session.target.capabilities.read_paths)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'GET']) {
      const { keys } = session.running
      await session.ask(readStep, path, { method, key: keys.reader })
      const query = path.includes('?') ? '&limit=1' : '?limit=1'
      if (method === 'GET') await session.ask(readStep, path + query, { key: keys.reader })
    }
}

check('PURE-01', {
  needs: ['read_paths'],
  timeout: 180_000,
  exercise: (session) => measuredWindow(session, () => readEverything(session)),
  judge: ({ evidence }) => readsSpentNothing(evidence, 'reading'),
})

check('PURE-03', {
  needs: ['read_paths'],
  shares: 'PURE-01',
  judge: ({ evidence }) => [noneArrived(evidence, 'requests of any kind while reading')],
})

const resolved = step<{ id: string }>('resolve')

/** Number of times a route is resolved in a row, without a call in between. */
const RESOLVES_IN_A_ROW = 54

/** Longest cycle that is detected: weights 7 and 3 give ten steps. Longer cycles are missed. */
const MAX_CYCLE = 10

/**
 * Returns true if the answers are consecutive steps of a cycle. Random answers look like a cycle in fewer
 * than one of two million rows of this length, whatever their weights (the worst are about 9 to 1). A
 * constant answer is not a cycle.
 */
function areTurns(answers: readonly string[]): boolean {
  if (answers.length < RESOLVES_IN_A_ROW || new Set(answers).size === 1) return false
  const lengths = Array.from({ length: MAX_CYCLE - 1 }, (_, index) => index + 2)
  return lengths.some((length) =>
    answers.every((answer, index) => index < length || answer === answers[index - length]),
  )
}

check('PURE-04', {
  needs: ['resolve', 'logical'],
  timeout: 180_000,
  async exercise(session) {
    const { resolve } = session.target.capabilities
    const pathOf = (id: string) => resolve!.path.replace('{model}', encodeURIComponent(id))
    await measuredWindow(session, async () => {
      for (const { id } of session.target.models.logical)
        for (let times = 0; times < 3; times++)
          await session.ask(readStep, pathOf(id), { key: session.running.keys.reader })
    })
    for (const { id } of session.target.models.logical)
      for (let times = 0; times < RESOLVES_IN_A_ROW; times++)
        await session.ask(resolved.with({ id }), pathOf(id), { key: session.running.keys.reader })
  },
  judge({ evidence, target }) {
    const findings = readsSpentNothing(evidence, 'resolving')
    const ofId = resolved.in(evidence)
    for (const { id } of target.models.logical) {
      const answers = ofId.filter(({ details }) => details.id === id)
      const { provider, model } = target.capabilities.resolve!
      const told = answers.map(({ body }) => {
        const json = jsonOf(body)
        return JSON.stringify([at(json, provider), at(json, model)])
      })
      const named = answers.every(({ body }) => typeof at(jsonOf(body), model) === 'string')
      const ok = named && told.length === RESOLVES_IN_A_ROW && !areTurns(told)
      const kinds = [...new Set(told)].join(' and ')
      findings.push(
        finding(
          'resolve-does-not-move-on',
          ok,
          `"${id}", resolved ${answers.length} times in a row`,
          {
            expected: 'a provider and model each time, and not in turns',
            actual: `${kinds}${areTurns(told) ? ', in turns: asking moves it on' : ''}`,
          },
          answers.slice(0, MAX_CYCLE + 1).map(ref),
        ),
      )
    }
    return findings
  },
})

const files = { call: step('call'), read: step('read') }

/** Returns size and time of all files of a gateway, except SQLite's shared memory, which has no content. */
async function factsOf(session: CheckContext): Promise<Record<string, string>> {
  const files = [...(await session.running.files!.list())].filter(([name]) => !name.endsWith('-shm'))
  return Object.fromEntries(
    files.map(([name, { bytes, changedAt }]) => [name, `${bytes} bytes, ${changedAt}`]),
  )
}

/** Time to wait for artifacts, ms: an artifact is written within five seconds of its call's end. */
const ARTIFACTS_WAIT_MS = 6_000

/** Returns the files once earlier calls are written and no file has changed for a second. */
async function settledFiles(session: CheckContext): Promise<Record<string, string>> {
  await session.wait(ARTIFACTS_WAIT_MS - 1_000)
  let files = await factsOf(session)
  for (let tries = 0; tries < 10; tries++) {
    await session.wait(1_000)
    const before = files
    files = await factsOf(session)
    if (isDeepStrictEqual(files, before)) break
  }
  return files
}

check('PURE-05', {
  timeout: 60_000,
  needs: ['files', 'read_paths'],
  async exercise(session) {
    await session.chat(files.call)
    session.note('before', await settledFiles(session))
    for (let times = 0; times < 3; times++)
      for (const path of session.target.capabilities.read_paths) await readAll(session, files.read, path)
    await session.wait(500)
    session.note('after', await factsOf(session))
  },
  judge({ evidence }) {
    const { before, after } = evidence.facts as Record<string, Record<string, string>>
    const changed = Object.keys({ ...before, ...after }).filter((name) => before![name] !== after![name])
    const reads = files.read.in(evidence)
    return {
      'files-stay-as-they-were': [
        reads.length > 0 && Object.keys(before!).length > 1 && changed.length === 0,
        `files that ${reads.length} reads changed, of ${Object.keys(before!).length}`,
        Object.keys(before!).length > 1 ? 'none' : 'at least two files',
        listed(changed),
        reads.map(ref),
      ],
    }
  },
})

const methods = { get: step('get'), head: step('head'), other: step('other') }

check('PURE-06', {
  needs: ['read_paths'],
  async exercise(session) {
    const { keys } = session.running
    for (const path of session.target.capabilities.read_paths) {
      await session.ask(methods.get, path, { key: keys.reader })
      await session.ask(methods.head, path, { method: 'HEAD', key: keys.reader })
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
        await session.ask(methods.other, path, {
          method,
          key: keys.reader,
          body: method === 'DELETE' ? null : '{}',
        })
    }
  },
  judge({ evidence }) {
    const of = (name: string) => evidence.exchanges.filter(({ step }) => step === name)
    const got = new Map(of(methods.get.step).map((each) => [each.request.path, each]))
    const same = ['content-type', 'content-length']
    return [
      of(methods.head.step).map((head): Told => {
        const get = got.get(head.request.path)!
        const different = same.filter(
          (name) => head.headers[name] !== get.headers[name] && !Number(head.headers[name]),
        )
        const ok =
          head.end === 'complete' && head.body === '' && head.status === get.status && different.length === 0
        return {
          'head-is-like-get': [
            ok,
            `HEAD ${head.request.path}`,
            `${get.status}, no body, and the headers of GET`,
            `${endText(head)}, ${head.body.length} bytes, ${different.join(' and ') || 'no header'} differs`,
            [ref(head), ref(get)],
          ],
        }
      }),
      of(methods.other.step).map(
        (each): Told => ({
          'other-methods-are-405': [
            each.status === 405 && /\bGET\b/.test(each.headers.allow ?? ''),
            `the answer to ${each.request.method} ${each.request.path}`,
            '405, and GET in Allow',
            `${endText(each)}, Allow: ${each.headers.allow ?? 'none'}`,
            [ref(each)],
          ],
        }),
      ),
    ]
  },
})
