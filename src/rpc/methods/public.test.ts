import { expect, test } from 'vitest'
import { createStubPort, hashOf, rawBlock } from '../../../test/contract/stubPort.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import * as index from '../../index.js'
import { createLoader } from '../../platform/lazy.js'
import { watchWhenLoaded } from './public.js'
import * as reads from './reads.js'

const address = '0x1111111111111111111111111111111111111111'

test('the root exports every read, and each loads its implementation', async () => {
  for (const name of Object.keys(reads)) expect(index).toHaveProperty(name)
  const port = createStubPort((calls) => calls.map(() => ({ result: '0x5' })))
  expect(await index.getTransactionCount(port, { address, block: 'pending' })).toBe(5)
  await expect(index.getCode(port, { address: '0x1', block: 'latest' })).rejects.toMatchObject({
    code: 'INVALID',
  })
  expect(port.batches).toHaveLength(1)
})

/** Watches with code of which the first `failures` loads fail. */
function setUp(failures: number) {
  const clock = createVirtualClock()
  const counts = { loads: 0 }
  const load = createLoader('The code', async () => {
    if (++counts.loads <= failures) throw new TypeError('Failed to fetch dynamically imported module')
    return reads
  })
  const port = createStubPort(() => [{ result: rawBlock({ hash: hashOf('1') }) }])
  const [seen, errors, controller] = [[] as unknown[], [] as unknown[], new AbortController()]
  const stop = watchWhenLoaded(load, port, {
    clock,
    signal: controller.signal,
    onBlock: (block) => seen.push(block),
    onError: (error) => errors.push(error),
  })
  return { clock, counts, port, seen, errors, stop, abort: () => controller.abort() }
}

test('a watch reports code that cannot be loaded, and tries again at the next poll', async () => {
  const { clock, counts, seen, errors, stop } = setUp(2)
  await clock.advance(399)
  expect(seen).toHaveLength(0)
  expect(errors).toMatchObject([{ code: 'REJECTED' }, { code: 'REJECTED' }])
  await clock.advance(1)
  expect(seen).toHaveLength(1)
  expect(counts.loads).toBe(3)
  stop()
  expect(clock.pendingTimers).toBe(0)
})

test.each(['stop', 'abort'] as const)(
  'a watch that ends before its code is loaded polls nothing: %s',
  async (how) => {
    const loading = setUp(0)
    loading[how]()
    const failing = setUp(9)
    await failing.clock.advance(250)
    failing[how]()
    const { length } = failing.errors
    await Promise.all([loading.clock.advance(1000), failing.clock.advance(1000)])
    expect(loading.port.batches).toHaveLength(0)
    expect(failing.errors).toHaveLength(length)
    expect(failing.clock.pendingTimers).toBe(0)
  },
)

test('an invalid interval is refused at once, loaded or not', () => {
  const port = createStubPort(() => [])
  expect(() => index.watchPending(port, { onBlock() {}, intervalMs: 0 })).toThrow('intervalMs')
})
