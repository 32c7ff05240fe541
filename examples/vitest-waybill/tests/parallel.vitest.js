// 200 tests at once on one mock server: each sees its own calls and no others.
import { expect, test } from 'vitest'
import { matchers, mockFor } from '../index.js'
import { ask } from './ask.js'

expect.extend(matchers)

for (let i = 0; i < 200; i++)
  test.concurrent(`test ${i} sees its own calls`, async ({ expect }) => {
    const mock = mockFor('one name for all')
    await mock.answer([{ say: { text: `One of ${i}.` } }, { say: { text: `Two of ${i}.` } }])
    expect(await ask(mock, `first ${i}`)).toBe(`One of ${i}.`)
    await new Promise((done) => setTimeout(done, (i * 7) % 50))
    expect(await ask(mock, `second ${i}`)).toBe(`Two of ${i}.`)
    expect((await mock.calls()).map(({ user }) => user)).toEqual([`first ${i}`, `second ${i}`])
  })
