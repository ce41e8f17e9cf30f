import type { Address } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { createChain } from '../../../test/sim/chain/chain.js'
import { createSimClient } from '../../../test/sim/simClient.js'
import { createSimPort } from '../../../test/sim/port/simPort.js'
import { createRandom } from '../../../test/sim/random.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { createShared, type Environment } from '../../chain/environment.js'
import type { Port, RpcReply } from '../../rpc/port.js'
import { memoryStore } from '../../store/memory.js'
import * as runtime from '../runtime.js'
import { refuses, TIMES_OUT, UNDERPRICED } from '../sender/simLane.fixture.js'
import { createNonceAllocatorIn } from './allocator.js'

const account = privateKeyToAccount(`0x${'1'.repeat(64)}`)
const address = account.address.toLowerCase() as Address
const WATCHED_MS = 180_000

/**
 * Outside code commits bytes and never sends them, and the lane has no signer. The endpoint answers every send with
 * `reply`. Returns the times of the sends, in milliseconds after the first one.
 */
async function sendsOf(
  reply: RpcReply,
  options: { blockTimeMs?: number; halted?: boolean },
): Promise<number[]> {
  const clock = createVirtualClock()
  const { blockTimeMs = 2_000, halted = false } = options
  const accounts = [{ address, balanceWei: 10n ** 18n }]
  const chain = createChain({ clock, random: createRandom(1), accounts, blockTimeMs })
  const node = createSimPort(chain, { clock, random: createRandom(2), latencyMs: { min: 5, max: 5 } })
  const sent: number[] = []
  const port: Port = {
    name: 'sim',
    kind: 'http',
    stats: node.stats,
    close: () => {},
    async batch(calls, batchOptions) {
      const reads = calls.filter(({ method }) => method !== 'eth_sendRawTransaction')
      const replies = reads.length === 0 ? [] : [...(await node.batch(reads, batchOptions))]
      if (reads.length === 0) await new Promise<void>((resolve) => clock.setTimer(resolve, 5))
      return calls.map(({ method }) => {
        if (method !== 'eth_sendRawTransaction') return replies.shift() as RpcReply
        sent.push(clock.now())
        return reply
      })
    },
  }
  const environment: Environment = {
    clock,
    random: createRandom(3),
    portsOf: () => [{ port, role: 'both' }],
    runtime: () => runtime,
    shared: createShared(),
  }
  const allocator = createNonceAllocatorIn(environment, {
    client: createSimClient({ port, chainId: 8453, account: account as never }) as never,
    address,
    store: memoryStore(),
    lossDepth: 'child',
  })
  async function settled<t>(promise: Promise<t>): Promise<t> {
    let open = true
    const closed = () => {
      open = false
    }
    promise.then(closed, closed)
    // The check of a signature runs on real timers, not on the virtual clock.
    while (open) await Promise.all([clock.advance(10), new Promise((resolve) => setImmediate(resolve))])
    return promise
  }
  chain.start()
  const reservation = await settled(allocator.reserve())
  const serializedTransaction = await account.signTransaction({
    type: 'eip1559',
    chainId: 8453,
    nonce: reservation.nonce,
    gas: 21_000n,
    to: address,
    maxFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 6n,
  })
  await settled(reservation.commit({ serializedTransaction }))
  chain.setHalted(halted)
  await clock.advance(WATCHED_MS)
  const first = sent[0] ?? 0
  await settled(allocator.close())
  chain.stop()
  return sent.map((atMs) => atMs - first)
}

const pausesOf = (sent: readonly number[]) =>
  sent.slice(1).map((atMs, index) => atMs - (sent[index] as number))

const ANSWERS: Readonly<Record<string, RpcReply>> = {
  'a timeout': TIMES_OUT,
  'a full pool': refuses('txpool is full'),
  'a nonce that is too high': refuses('nonce too high'),
  'a lack of funds': refuses('insufficient funds for gas * price + value'),
  'a fee that is too low': refuses('transaction underpriced'),
  'another transaction at the nonce': UNDERPRICED,
  'a permanent refusal': refuses('exceeds block gas limit'),
  'a refusal in unknown words': refuses('computer says no'),
}

describe.each(Object.entries(ANSWERS))('committed bytes that get %s, without a signer', (_, reply) => {
  test.each([
    ['blocks every 2 s', { blockTimeMs: 2_000 }],
    ['blocks every 12 s', { blockTimeMs: 12_000 }],
  ])('are resent with %s: within a minute each time, and at most once per block', async (__, options) => {
    const sent = await sendsOf(reply, options)
    expect(sent.length).toBeGreaterThan(3)
    expect(Math.max(...pausesOf(sent))).toBeLessThanOrEqual(62_000)
    // The first resends come sooner, with doubling pauses, in case the request was lost.
    expect(sent.length).toBeLessThanOrEqual(WATCHED_MS / options.blockTimeMs + 9)
  })

  test('are resent with doubling pauses while no block comes', async () => {
    const sent = await sendsOf(reply, { halted: true })
    expect(sent.length).toBeGreaterThan(2)
    expect(sent.length).toBeLessThanOrEqual(17)
  })
})

test('resends after a permanent refusal three times as soon as the refusal counts, then with pauses that double up to 15 s', async () => {
  const pauses = async (blockTimeMs: number) =>
    pausesOf(await sendsOf(refuses('exceeds block gas limit'), { blockTimeMs })).map((ms) =>
      Math.round(ms / 1_000),
    )
  expect((await pauses(2_000)).slice(0, 8)).toEqual([3, 3, 3, 6, 12, 15, 15, 15])
  // The first pause is 2 s, because the time between blocks is not known yet.
  expect((await pauses(12_000)).slice(0, 5)).toEqual([2, 15, 15, 15, 15])
})
