import { pad } from 'viem'
import { expect, test, vi } from 'vitest'
import { createStubPort, rawBlock } from '../../../test/contract/stubPort.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { Port } from '../../rpc/port.js'
import { createTracker } from './blockPoller.js'
import { type Follower, IDLE_FOLLOWER } from './follower.js'

type Options = Parameters<typeof createTracker>[0]

/** A tracker of one endpoint that polls every 200 ms and does not read the pending block. */
function openTracker({
  port,
  ...options
}: Partial<Omit<Options, 'port'>> & Pick<Options, 'clock'> & { port: Port }) {
  return createTracker({
    port: () => port,
    cadenceMs: () => 200,
    pending: () => ({ block: false, count: false, paced: false }),
    timeoutMs: 1_000,
    horizon: 64,
    ...options,
  })
}

// `atHome`: the number of calls at the end of each batch that it answers for our chain.
test.each([
  { what: 'is on another chain', atHome: 0 },
  { what: 'comes back to our chain in the middle of a batch', atHome: 1 },
])('its first head is not believed from an endpoint that $what', async ({ atHome }) => {
  let strays = true
  const port = createStubPort((calls) =>
    calls.map(({ method }, index) => {
      const away = strays && index < calls.length - atHome
      return { result: method === 'eth_chainId' ? away : rawBlock({ number: away ? '0x7a120' : '0x10' }) }
    }),
  )
  const clock = createVirtualClock()
  const onWrongChain = vi.fn()
  const tracker = openTracker({
    port,
    clock,
    identity: {
      calls: [{ method: 'eth_chainId', params: [] }],
      holds: ([reply]) => reply?.ok === true && reply.result === false,
    },
    onWrongChain,
  })
  const ticked = tracker.nextTick()
  await clock.advance(1_000)
  expect(tracker.head).toBeUndefined()
  expect(onWrongChain).toHaveBeenCalled()
  strays = false
  await clock.advance(10_000)
  await ticked
  expect(tracker.head?.number).toBe(16)
  // From then on the chain is not verified any more.
  const { length } = port.batches
  void tracker.nextTick()
  await clock.advance(1_000)
  expect(
    port.batches
      .slice(length)
      .flat()
      .map(({ method }) => method),
  ).toEqual(['eth_getBlockByNumber'])
  tracker.stop()
})

test('a block that is shown before the walk has begun is not walked yet', async () => {
  let isConfirmed = false
  const port = createStubPort((calls) =>
    calls.map(({ params }) => ({
      result: params[0] === 'latest' || isConfirmed ? rawBlock({ number: '0x10' }) : null,
    })),
  )
  const clock = createVirtualClock()
  const tracker = openTracker({ port, clock })
  expect(tracker.isBehind).toBe(false)
  void tracker.nextTick()
  await clock.advance(1_000)
  expect(tracker.head).toBeUndefined()
  expect(tracker.isBehind).toBe(true)
  isConfirmed = true
  void tracker.nextTick()
  await clock.advance(1_000)
  expect(tracker.head?.number).toBe(16)
  expect(tracker.isBehind).toBe(false)
  tracker.stop()
})

test('another wake, or a signature in between, does not delay the poll that is about to begin', async () => {
  const port = createStubPort((calls) => calls.map(() => ({ result: rawBlock({ number: '0x10' }) })))
  const clock = createVirtualClock()
  const tracker = openTracker({ port, clock })
  tracker.wake()
  // No follower exists: a new plan would drop the poll.
  tracker.watch(`0x${'11'.repeat(32)}`, {} as never)
  tracker.wake()
  await clock.advance(1)
  expect(port.batches.flat().filter(({ params }) => params[0] === 'latest')).toHaveLength(1)
  tracker.stop()
})

test('blocks that left are reported before blocks that came, from the tip downwards: a hash may be in both', async () => {
  const hash = (fork: string, number: number) => `0x${`${fork}${number}`.padStart(64, '0')}` as const
  let fork = 'a'
  let head = 4
  // Both forks have the blocks up to 2.
  const forkAt = (number: number) => (number <= 2 ? 'a' : fork)
  const port = createStubPort((calls) =>
    calls.map(({ params }) => {
      const number = params[0] === 'latest' ? head : Number(params[0])
      return {
        result: rawBlock({
          number: `0x${number.toString(16)}`,
          hash: hash(forkAt(number), number),
          parentHash: hash(forkAt(number - 1), number - 1),
        }),
      }
    }),
  )
  const clock = createVirtualClock()
  const tracker = openTracker({ port, clock })
  const reported: string[] = []
  tracker.follow({
    ...IDLE_FOLLOWER,
    address: '0x00000000000000000000000000000000000000aa',
    pace: () => 'cadence',
    reads: () => [],
    left: ({ number }) => reported.push(`left ${number}`),
    sealed: async ({ number }) => void reported.push(`sealed ${number}`),
  })
  for (head of [2, 3, 4]) {
    void tracker.nextTick()
    await clock.advance(400)
  }
  reported.length = 0
  fork = 'b'
  head = 5
  await clock.advance(400)
  expect(reported).toEqual(['left 4', 'left 3', 'sealed 3', 'sealed 4', 'sealed 5'])
  tracker.stop()
})

test('a first tip is believed only once its number shows it too: one wrong answer is no chain', async () => {
  let isWrong = true
  const port = createStubPort((calls) =>
    calls.map(({ params }) => {
      if (params[0] === 'latest')
        return { result: rawBlock(isWrong ? { number: '0x99', hash: pad('0x99') } : { number: '0x10' }) }
      return { result: params[0] === '0x10' ? rawBlock({ number: '0x10' }) : null }
    }),
  )
  const clock = createVirtualClock()
  const tracker = openTracker({ port, clock })
  void tracker.nextTick()
  await clock.advance(1_000)
  expect(tracker.head).toBeUndefined()
  isWrong = false
  void tracker.nextTick()
  await clock.advance(1_000)
  expect(tracker.head?.number).toBe(16)
  tracker.stop()
})

test.each([1, 2, 5, 100, 1_000_000])(
  'a pending block proves nothing while a newer head, %i too high, does not join',
  async (by) => {
    const own = pad('0xaa')
    const hex = (number: number) => `0x${number.toString(16)}` as const
    let real = 1
    let above = 0
    const blockAt = (number: number) =>
      rawBlock({
        number: hex(number),
        hash: pad(hex(number)),
        parentHash: pad(hex(number - 1)),
        transactions: number === 2 ? [own] : [],
      })
    const unlinked = (number: number) =>
      rawBlock({ number: hex(number), hash: pad('0xdd1'), parentHash: pad('0xdd2') })
    // The pending block is the newest one, as many nodes answer.
    const port = createStubPort((calls) =>
      calls.map(({ params }) => {
        if (params[0] === 'latest') return { result: above > 0 ? unlinked(real + above) : blockAt(real) }
        if (params[0] === 'pending') return { result: blockAt(real) }
        return { result: Number(params[0]) <= real ? blockAt(Number(params[0])) : null }
      }),
    )
    const clock = createVirtualClock()
    const heads: number[] = []
    const tracker = openTracker({
      port,
      clock,
      pending: () => ({ block: true, count: false, paced: false }),
      onPendingBlock: (_block, _latest, head) => heads.push(head),
    })
    const reported: string[] = []
    const looks: boolean[] = []
    const follower: Follower = {
      ...IDLE_FOLLOWER,
      address: '0x00000000000000000000000000000000000000aa',
      pace: () => 'cadence',
      reads: () => [],
      sealed: async (_, hashes) => void (hashes.length > 0 && reported.push('sealed')),
      preconfirmed: () => reported.push('preconfirmed'),
      ticked: async (_, { hasPending }) => void looks.push(hasPending),
    }
    tracker.follow(follower)
    tracker.watch(own, follower)
    void tracker.nextTick()
    await clock.advance(1_000)
    expect(tracker.head?.number).toBe(1)
    real = 2
    above = by
    heads.length = 0
    await clock.advance(2_000)
    // The block that follows the tip is ours, whatever is shown above it. Beyond the limit it is not fetched.
    const isNear = by < 256
    expect(tracker.head?.number).toBe(isNear ? 2 : 1)
    expect(reported).toEqual(isNear ? ['sealed'] : [])
    expect(looks).not.toContain(true)
    expect(new Set(heads)).toEqual(new Set([2 + by]))
    above = 0
    await clock.advance(1_000)
    expect(reported).toEqual(['sealed'])
    tracker.stop()
  },
)
