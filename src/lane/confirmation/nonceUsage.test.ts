import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { simSignatures } from '../../../test/sim/signatures.js'
import { ACCOUNT, openLane, type SimLane } from '../../api/sender/simLane.fixture.js'
import { createStopSignal } from '../../platform/stopSignal.js'
import type { Port } from '../../rpc/port.js'
import type { LaneContext } from '../engine/context.js'
import { createNonceUsage } from './nonceUsage.js'

const OTHER: Hash = `0x${'ee'.repeat(32)}`

/** Seeks for who used the first nonce, which a stranger did; what is applied. `leaves`: its block, as it is told who. */
async function seek(leaves: boolean) {
  await using lane = await openLane({ closed: true })
  const { chain, port } = lane
  chain.start()
  lane.foreign()
  await lane.until(() => chain.head.number === 1)
  let walked = chain.head.hash
  const asked: Port = {
    ...port,
    batch(calls, options) {
      if (leaves && calls.some(({ params }) => params[1] === true)) walked = OTHER
      return port.batch(calls, options)
    },
  }
  const { seeker, applied } = seekerOn(lane, asked, () => walked)
  seeker.count(1, 1)
  await lane.settle(seeker.idle())
  return applied
}

function seekerOn({ chain, clock }: SimLane, port: Port, tipHash: () => Hash) {
  const to = chain.head.number
  const applied: string[] = []
  const live = { state: 'live', nonce: 0, claims: ['a'], attempts: [] }
  const context = {
    lane: {
      key: { address: ACCOUNT },
      book: {
        floor: 0,
        cursor: 1,
        unfinished: 1,
        get: () => live,
        nonceOf: () => undefined,
        slots: new Map([[0, live]]),
      },
      apply: (nonce: number, { type }: { type: string }) => applied.push(`${nonce} ${type}`),
    },
    endpointPool: {
      chainId: chain.settings.chainId,
      reader: { port },
      others: () => [],
      doubt: () => {},
      tracker: {
        head: { number: to },
        hashAt: (number: number) => (number === to ? tipHash() : chain.canonical[number]?.hash),
      },
    },
    clock,
    signatures: simSignatures,
    limits: { readTimeoutMs: 1_000, evidencePatienceMs: 1_000 },
    closing: createStopSignal(() => new Error('closed')),
    closed: false,
  } as unknown as LaneContext
  return { seeker: createNonceUsage(context, new Set(), () => undefined), applied }
}

test('P4: evidence in a block that stands moves the slot; in one that left while it was read it says nothing', async () => {
  expect(await seek(false)).toEqual(['0 evidence'])
  expect(await seek(true)).toEqual([])
})

test('a count that was read at a block which left the chain is not where the search begins', async () => {
  await using lane = await openLane({ closed: true })
  const { chain, port } = lane
  chain.start()
  lane.foreign()
  await lane.until(() => chain.head.number === 8)
  const counted: string[][] = []
  const asked: Port = {
    ...port,
    batch(calls, options) {
      const at = calls.flatMap(({ method, params }) =>
        method === 'eth_getTransactionCount' && typeof params[1] === 'string' ? [params[1]] : [],
      )
      counted.push(at)
      return port.batch(calls, options)
    },
  }
  const { seeker, applied } = seekerOn(lane, asked, () => chain.head.hash)
  seeker.count(0, 6)
  seeker.left({ number: 1, hash: OTHER })
  seeker.count(1, 8)
  await lane.settle(seeker.idle())
  // After the newest pair, everything below it at once: from where the count is still known not to have passed.
  expect(counted[1]?.[0]).toBe('0x0')
  expect(applied).toEqual(['0 evidence'])
})
