// Real requests and answers of other projects, whole and streamed, translated into every other dialect and back. Each
// part comes back unchanged, or its loss is named. The captures are optional; the test reads them in place.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interaction } from '../../mocks/import/interaction.ts'
import { atLeast, capturedCalls, withoutCaptures } from '../../mocks/import/test-captures.ts'
import type { Loss } from '../core/losses.ts'
import { parseExact } from '../shared/exact-json.ts'
import { isObject } from './json.ts'
import { compareAnswers, compareRequests, type Finding } from './test-comparison.ts'
import {
  asBlocks,
  crossAnswer,
  crossed,
  crossStream,
  dialectOf,
  PAIRS,
  readAnswer,
  readStream,
} from './test-crossing.ts'

/** The least number of captures at each dialect's path. There are none of interactions. */
const PATHS: Readonly<Record<string, { readonly path: RegExp; readonly all: number }>> = {
  chat: { path: /\/chat\/completions(\?.*)?$/, all: 300 },
  messages: { path: /\/v1\/messages(\?.*)?$/, all: 100 },
  responses: { path: /\/responses(\?.*)?$/, all: 100 },
  gemini: { path: /\/models\/[^/]+:(generateContent|streamGenerateContent)$/, all: 80 },
}

for (const [from, to] of PAIRS.filter(([from]) => from in PATHS)) {
  test(`captures translated from ${from} to ${to} and back stay the same, or the loss is named (DIAL-04)`, {
    skip: withoutCaptures,
  }, (t) => {
    const { path, all } = PATHS[from]!
    const table = new Map<string, Record<Finding['result'], number>>()
    const silent: string[] = []
    let seen = 0
    for (const { name, interaction } of capturedCalls(path)) {
      const found = [...request(interaction, from, to), ...answer(interaction, from, to)]
      if (found.length > 0) seen++
      for (const { what, finding } of found) {
        const row = `${what}: ${finding.kind}`
        const counts = table.get(row) ?? { equal: 0, named: 0, silent: 0 }
        counts[finding.result]++
        table.set(row, counts)
        if (finding.result === 'silent')
          silent.push(`${name} ${row}: ${shown(finding.before)} became ${shown(finding.after)}`)
      }
    }
    for (const [row, { equal, named, silent }] of [...table].sort())
      t.diagnostic(`${row}: ${equal} equal, ${named} named, ${silent} lost in silence`)
    assert.ok(seen >= atLeast(all), `only ${seen} captures were found`)
    assert.deepEqual(silent, [])
  })
}

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 300) ?? 'nothing'

interface Found {
  readonly what: string
  readonly finding: Finding
}

function request({ requestBody, requestHeaders }: Interaction, from: string, to: string): Found[] {
  const json = requestBody && tryParse(requestBody)
  if (!isObject(json) || !(json.messages ?? json.input ?? json.contents)) return []
  const forwarded = requestHeaders?.['anthropic-beta'] ? ['anthropic-beta', 'x'] : []
  // The history's own family, so that sealed reasoning may be passed on.
  const there = crossed(from, to, { request: json, forwarded })
  const back = crossed(to, from, { request: there.sent })
  const losses = [...there.translation.losses, ...back.translation.losses]
  const findings = compareRequests(asBlocks(from, json), asBlocks(from, back.sent), losses)
  return findings.map((finding) => ({ what: 'request', finding }))
}

function answer({ status, responseBody, responseHeaders }: Interaction, from: string, to: string): Found[] {
  if (status !== 200) return []
  const isStream =
    /event-stream/.test(responseHeaders['content-type'] ?? '') ||
    /^(event|data):/.test(responseBody.toString('utf8', 0, 6))
  if (isStream) {
    const before = readStream(from, responseBody)
    if (before.errors.length > 0 || !before.done) return []
    const there = crossStream(to, from, responseBody)
    const back = crossStream(from, to, there.bytes)
    const findings = compareAnswers(before, readStream(from, back.bytes), [...there.losses, ...back.losses])
    return findings.map((finding) => ({ what: 'stream', finding }))
  }
  const text = responseBody.toString('utf8')
  if (tryReadAnswer(from, text) !== null) return []
  const before = readAnswer(from, text)
  const there = crossAnswer(to, from, text)
  const back = crossAnswer(from, to, there.text)
  const losses: Loss[] = [...there.losses, ...back.losses]
  return compareAnswers(before, readAnswer(from, back.text), losses).map((finding) => ({
    what: 'answer',
    finding,
  }))
}

/** Reason why a capture is not an answer; null if it is an answer. */
function tryReadAnswer(dialect: string, text: string): string | null {
  try {
    return dialectOf(dialect).upstream.readAnswer(text).error?.message ?? null
  } catch (error) {
    return String(error)
  }
}

function tryParse(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return null
  }
}
