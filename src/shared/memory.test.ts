import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MemoryAccount, memoryLimits } from './memory.ts'

const open = (memory: MemoryAccount) => {
  const gone: string[] = []
  const share = (key: string | null, name: string, kind: 'cache' | 'unread' | 'demand' = 'demand') => {
    const opened = memory.open(key, kind, () => void gone.push(name))
    return opened
  }
  return { gone, share }
}

test('beyond the limit of a key, its newest demand is refused, and other keys go on', () => {
  const memory = new MemoryAccount({ all: 100, perKey: 50 })
  const { gone, share } = open(memory)
  const [first, second] = [share('ann', 'first'), share('ann', 'second')]
  assert.ok(first.take(30))
  assert.equal(second.take(30), false)
  assert.ok(share('bob', 'bob').take(50))
  assert.deepEqual([gone, memory.bytes], [[], 80])
})

test('an older demand that grows displaces a newer one of its key', () => {
  const memory = new MemoryAccount({ all: 100, perKey: 100 })
  const { gone, share } = open(memory)
  const [first, second] = [share(null, 'first'), share(null, 'second')]
  assert.ok(first.take(40) && second.take(40))
  assert.ok(first.take(40))
  assert.deepEqual([gone, memory.bytes], [['second'], 80])
})

test('if the memory is full, the key that holds the most makes room for the others', () => {
  const memory = new MemoryAccount({ all: 100, perKey: 90 })
  const { gone, share } = open(memory)
  assert.ok(share('ann', 'old').take(40) && share('ann', 'new').take(40))
  assert.ok(share('bob', 'bob').take(30))
  assert.deepEqual(gone, ['new'])
  assert.equal(share('ann', 'newest').take(40), false)
})

test('what can be made again goes before demands, and demands go before connections that have just begun to wait', () => {
  const memory = new MemoryAccount({ all: 100, perKey: 100 })
  const { gone, share } = open(memory)
  share(null, 'unread', 'unread').set(30)
  assert.ok(share(null, 'demand').take(30))
  share(null, 'cache', 'cache').set(30)
  for (let n = 0; n < 3; n++) share(null, `unread ${n}`, 'unread').set(30)
  assert.deepEqual(gone, ['cache', 'demand', 'unread'])
})

test('a demand that cannot be given up any more stays', () => {
  const memory = new MemoryAccount({ all: 100, perKey: 100 })
  const { gone, share } = open(memory)
  const running = share('ann', 'running')
  assert.ok(running.take(90))
  running.giveUp = null
  assert.equal(share('ann', 'next').take(20), false)
  assert.equal(share('bob', 'large').take(20), false, 'nobody can make room')
  assert.ok(share('bob', 'small').take(6), 'a key that holds little is served')
  assert.deepEqual(gone, [])
})

test('whatever is opened, taken, set and released, the sum is that of the shares, and within the limit where it can be', () => {
  const step = fc.record({
    key: fc.constantFrom('ann', 'bob', null),
    kind: fc.constantFrom('cache', 'unread', 'demand'),
    which: fc.nat(20),
    what: fc.constantFrom('open', 'take', 'set', 'give', 'release'),
    bytes: fc.nat(60),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = new MemoryAccount({ all: 100, perKey: 70 })
      const shares: ReturnType<MemoryAccount['open']>[] = []
      for (const { key, kind, which, what, bytes } of steps) {
        if (what === 'open' || shares.length === 0) shares.push(memory.open(key, kind, () => {}))
        const share = shares[which % shares.length]!
        if (what === 'take') share.take(bytes)
        else if (what === 'set') share.set(bytes)
        else if (what === 'give') share.give(bytes)
        else if (what === 'release') share.release()
        const sum = shares.reduce((sum, share) => sum + share.bytes, 0)
        assert.equal(memory.bytes, sum)
        assert.ok(sum <= 100 + 2 * (100 / 16) + 60, `${sum} bytes`)
      }
      for (const share of shares) share.release()
      assert.equal(memory.bytes, 0)
    }),
  )
})

test('an eighth of the memory is left for small demands', () => {
  const MIB = 2 ** 20
  const memory = new MemoryAccount({ all: 80 * MIB, perKey: 80 * MIB })
  const { share } = open(memory)
  assert.ok(share(null, 'large').take(70 * MIB))
  assert.equal(share(null, 'too large').take(MIB), false)
  for (let n = 0; n < 40; n++) assert.ok(share(null, 'small').take(MIB / 4))
  assert.equal(share(null, 'one too many').take(MIB / 4), false)
})

test('two of the largest requests fit into any heap, and one of several keys has at most half, except for one request', () => {
  const MIB = 2 ** 20
  assert.deepEqual(memoryLimits(7 * MIB, true, 32 * MIB), { all: 32 * MIB, perKey: 24 * MIB })
  assert.deepEqual(memoryLimits(7 * MIB, false, 10 * MIB), { all: 24 * MIB, perKey: 24 * MIB })
  const { all, perKey } = memoryLimits(7 * 2 ** 40, true)
  const memory = new MemoryAccount({ all, perKey })
  const { share } = open(memory)
  assert.ok(share('ann', 'one').take(21 * 2 ** 40) && share('bob', 'one').take(21 * 2 ** 40))
})
