import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { simSignatures } from '../../../test/sim/simClient.js'
import { ACCOUNT, openLane, type SimLane } from '../../api/sender/simLane.fixture.js'
import type { Port } from '../../rpc/port.js'
import type { LaneContext } from '../engine/core.js'
import { createNonceUsage } from './nonceUsage.js'

const OTHER: Hash = `0x${'ee'.repeat(32)}`

/**
 * Searches for the use of the first nonce, which belongs to another sender; returns the applied events.
 * `leaves`: the block leaves the chain during the search.
 */
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
      doubtReader: () => {},
      tracker: {
        head: { number: to },
        hashAt: (number: number) => (number === to ? tipHash() : chain.canonical[number]?.hash),
      },
    },
    clock,
    signatures: simSignatures,
    limits: { readTimeoutMs: 1_000, evidencePatienceMs: 1_000 },
    closing: new AbortController().signal,
    closed: false,
  } as unknown as LaneContext
  return { seeker: createNonceUsage(context, new Set(), () => undefined), applied }
}

test('P4: moves the slot for evidence in a canonical block, and not in a block that left during the read', async () => {
  expect(await seek(false)).toEqual(['0 evidence'])
  expect(await seek(true)).toEqual([])
})

test('does not start the search at a count whose block left the chain', async () => {
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
  // After the newest pair of blocks, all lower blocks are read at once, down to the last count that had not
  // passed the nonce.
  expect(counted[1]?.[0]).toBe('0x0')
  expect(applied).toEqual(['0 evidence'])
})
