import type { Address, Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { payloadAttempt } from '../../../src/allocator/countRecords.js'
import { createNonceAllocatorIn } from '../../../src/api/allocators/allocator.js'
import { openProcesses, type Process } from '../../../src/api/sender/processes.fixture.js'
import { openCounter } from '../../../src/ownership/counterLane.js'
import type { CounterTerm } from '../../../src/ownership/counterTerm.js'
import { defaultLimits } from '../../../src/validate/validateLane.js'
import { createTempo, EXPIRING_KEY, serialize } from './chain.js'
import { expiringNonces, keyedNonce } from './sources.js'

const ACCOUNT: Address = '0x00000000000000000000000000000000000000aa'
const LEASE_MS = 10_000

async function openWorld() {
  const world = await openProcesses()
  const { lane } = world
  const seconds = () => Math.floor(lane.chain.head.timestampMs / 1_000)
  const tempo = createTempo(seconds)
  lane.script = (call) => tempo.answer(call)

  /** The set of expiring nonces in one process, and its events. */
  async function openSet(process: Process) {
    const { client } = lane.parameters
    const reported: string[] = []
    const options = {
      client: client as never,
      address: ACCOUNT,
      signer: undefined,
      limits: defaultLimits,
      given: {},
      store: process.store,
    }
    const source = expiringNonces({ account: ACCOUNT })
    const held = await lane.settle(openCounter(options as never, source, process.environment))
    held.value.users.add({
      emit: (event, number) => void reported.push(`${event} ${number}`),
      fail: (error) => void reported.push(`error ${error.message}`),
      fill: undefined,
    })
    const term = await lane.settle(held.value.hold())
    return { term, reported, close: () => lane.settle(held.release(held.value.stop)) }
  }

  /** Commits a payload that is valid for so many seconds. */
  async function commit(term: CounterTerm, forSeconds: number): Promise<Hex> {
    const [number] = term.counter.reserve(1)
    const validBefore = seconds() + forSeconds
    const payload = serialize({ from: ACCOUNT, nonceKey: EXPIRING_KEY, nonce: 0n, validBefore })
    // The hash identifies it: two payloads with the same content would be the same transaction.
    expect(term.counter.commit(number!, payloadAttempt(payload, term.lease.epoch))).toBe(true)
    term.wake()
    await lane.settle(term.written())
    return payload
  }

  return { ...world, lane, tempo, openSet, commit }
}

describe('nonces behind a key', () => {
  test('each key has a sequence of its own, which needs no more than the source of its counter', async () => {
    await using world = await openWorld()
    const { lane, tempo } = world
    const process = world.start()
    const open = (key: bigint) =>
      createNonceAllocatorIn<bigint>(process.environment, {
        client: lane.parameters.client as never,
        address: ACCOUNT,
        source: keyedNonce({ account: ACCOUNT, key }),
        store: process.store,
      })
    const [one, other] = [open(7n), open(8n)]
    const used: bigint[] = []
    one.on('used', ({ nonce }) => used.push(nonce))
    const reserved = await lane.settle(Promise.all([one.reserveMany(3), other.reserveMany(2)]))
    expect(reserved.map((each) => each.map(({ nonce }) => nonce))).toEqual([
      [0n, 1n, 2n],
      [0n, 1n],
    ])
    const payloadOf = (nonce: bigint) => serialize({ from: ACCOUNT, nonceKey: 7n, nonce, validBefore: 0 })
    for (const reservation of reserved[0])
      await lane.settle(reservation.commit({ payload: payloadOf(reservation.nonce) }))
    // A gap blocks the nonces above it, of this key alone.
    expect(tempo.execute(payloadOf(1n))).toBe('NonceTooHigh')
    expect([0n, 1n].map((nonce) => tempo.execute(payloadOf(nonce)))).toEqual([undefined, undefined])
    await lane.blocks(2)
    expect(used).toEqual([0n, 1n])
    expect(one.snapshot()).toMatchObject({ floor: 2n, inFlight: 1 })
    expect(other.snapshot()).toMatchObject({ floor: 0n, inFlight: 2 })
    await lane.settle(Promise.all([one.close(), other.close()]))
  })
})

describe('expiring nonces: a set with a deadline', () => {
  test('payloads are used in any order, one that is not used blocks none, and its deadline ends it', async () => {
    await using world = await openWorld()
    const { lane, tempo } = world
    const { term, reported, close } = await world.openSet(world.start())
    const payloads = [
      await world.commit(term, 30),
      await world.commit(term, 28),
      await world.commit(term, 20),
    ]
    expect(tempo.execute(payloads[2]!)).toBeUndefined()
    await lane.blocks(2)
    expect(reported).toEqual(['used 2'])
    expect(tempo.execute(payloads[0]!)).toBeUndefined()
    // Replay protection by hash.
    expect(tempo.execute(payloads[0]!)).toBe('Replay')
    await lane.blocks(2)
    expect(reported).toEqual(['used 2', 'used 0'])
    await lane.clock.advance(30_000)
    expect(reported).toEqual(['used 2', 'used 0', 'expired 1'])
    expect(tempo.execute(payloads[1]!)).toBe('InvalidExpiry')
    expect(term.counter.state).toMatchObject({ inFlight: 0 })
    await close()
  })

  test('a process that takes over knows the payloads that may still be used, and gives their numbers to no other', async () => {
    await using world = await openWorld()
    const { lane, tempo } = world
    const [first, second] = [world.start(), world.start()]
    const before = await world.openSet(first)
    const payloads = [await world.commit(before.term, 29), await world.commit(before.term, 30)]
    first.freeze()
    tempo.execute(payloads[1]!)
    await lane.clock.advance(LEASE_MS + 5_000)
    const after = await world.openSet(second)
    expect(after.reported).toEqual(['used 1'])
    expect(after.term.counter.outstanding().map(({ count, attempts }) => [count, attempts[0]?.raw])).toEqual([
      [0n, payloads[0]],
    ])
    expect(after.term.counter.reserve(1)).toEqual([2n])
    await after.close()
    first.thaw()
    await before.close()
  })

  test('a use that leaves the chain before the deadline is open again', async () => {
    await using world = await openWorld()
    const { lane, tempo } = world
    const { term, reported, close } = await world.openSet(world.start())
    // The first block is final.
    await lane.blocks(1)
    const payload = await world.commit(term, 30)
    const undo = tempo.snapshot()
    tempo.execute(payload)
    await lane.blocks(1)
    undo()
    await lane.blocks(2)
    expect(reported).toEqual(['used 0', 'reorged 0'])
    expect(tempo.execute(payload)).toBeUndefined()
    await lane.blocks(2)
    expect(reported).toEqual(['used 0', 'reorged 0', 'used 0'])
    await close()
  })
})
