import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPageTokens } from './caller.ts'

test("the codes and tokens of one key never sign out another key's page, regardless of their number", () => {
  const tokens = createPageTokens(() => 0)
  const ann = tokens.grant({ name: 'ann', role: 'admin' })
  const bob = { name: 'bob', role: 'client' } as const
  const [first, code] = [tokens.grant(bob), tokens.code(bob)]
  for (let n = 0; n < 3_000; n++) tokens.code(bob)
  assert.equal(tokens.find(ann.text)?.name, 'ann')
  assert.equal(tokens.find(first.text)?.name, 'bob', 'nor one of its own')
  assert.equal(tokens.redeem(code.text), null, 'the oldest of its codes are gone')
  for (let n = 0; n < 3_000; n++) tokens.grant(bob)
  assert.equal(tokens.find(first.text), null, 'the oldest of its tokens are gone')
  assert.equal(tokens.find(ann.text)?.name, 'ann')
})
