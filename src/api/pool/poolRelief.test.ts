import { describe, expect, test } from 'vitest'
import { isNoop } from '../../../test/sim/foreign.js'
import { TxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { memoryStore } from '../../store/memory.js'
import type { Tx, TxRequest } from '../../types/index.js'
import type { LaneWrite, Lease, Store } from '../../types/store.js'
import { onSend, refuses, swallows } from '../sender/simLane.fixture.js'
import { nearestTo } from './members.js'
import { KEYS, ONE_ETHER, openPools, type Pools, TRANSFER_WEI, transfer } from './poolRelief.fixture.js'

const markers = (count: number) => Array.from({ length: count }, (_, index) => index)
const sorted = (names: readonly string[]) => [...names].sort()

/** Sends in one turn, and resolves once the store has the transactions. */
function queue({ lane, pool }: Pools, count: number, options = {}, value = 1n): Promise<readonly Tx[]> {
  const send = (marker: number) =>
    pool.send({ ...transfer(marker), value } as TxRequest, { until: 'queued', ...options })
  return lane.settle(Promise.all(markers(count).map(send)))
}

const sealed = ({ lane }: Pools, sent: readonly Tx[]) =>
  lane.settle(Promise.all(sent.map((tx) => tx.wait('sealed'))))

/** The address of the key that has the transaction in the store, once the pool is idle. */
const keptAt = async ({ lane }: Pools, store: Store, id: string) => {
  const { chainId } = lane.chain.settings
  const genesisHash = lane.chain.canonical[0]?.hash as `0x${string}`
  return (await store.find({ chainId, genesisHash }, { id }))?.lane.address
}

describe('a key of a pool that cannot pay', () => {
  test('a transaction that costs more than any key has stops no key, and reports its reason for waiting', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    const giants = await queue(pools, 8, {}, 100n * ONE_ETHER)
    const send = (marker: number) => pool.send(transfer(100 + marker), { until: 'queued' })
    await sealed(pools, await lane.settle(Promise.all(markers(20).map(send))))
    expect(pools.executed()).toHaveLength(20)
    expect(giants.map(({ stage, waitingFor }) => [stage, waitingFor?.for])).toEqual(
      giants.map(() => ['queued', 'funds']),
    )
    await lane.settle(Promise.all(giants.map((tx) => tx.cancel())))
  })

  test('by default a transaction that costs more than any key has fails, and the rest lands', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], { starved: undefined })
    const { lane, pool } = pools
    const giants = await queue(pools, 8, {}, 100n * ONE_ETHER)
    const [patient] = await queue(pools, 1, { starved: 'wait' }, 100n * ONE_ETHER)
    const send = (marker: number) => pool.send(transfer(100 + marker), { until: 'queued' })
    const failing = giants.map((tx) => lane.rejection(tx.wait()))
    await sealed(pools, await lane.settle(Promise.all(markers(20).map(send))))
    for (const error of await Promise.all(failing))
      expect(error).toMatchObject({ code: 'STARVED', fate: 'notExecuted' })
    expect([patient?.stage, patient?.waitingFor?.for]).toEqual(['queued', 'funds'])
    await lane.settle((patient as Tx).cancel())
    await lane.settle(pool.drain())
    expect(pools.executed()).toHaveLength(20)
  })

  test('its waiting transactions move to a key that can pay, with their handles, receipts and ids', async () => {
    const store = memoryStore()
    await using pools = await openPools([0n, ONE_ETHER], { store })
    const { lane, pool } = pools
    const sent = await queue(pools, 10)
    const landed = await sealed(pools, sent)
    expect(landed.map(({ receipt }) => receipt?.status)).toEqual(markers(10).map(() => 'success'))
    expect(sorted(pools.executed())).toEqual(markers(10).map((marker) => `${marker}@1`))
    for (const { id } of sent) expect(await keptAt(pools, store, id)).toBe(KEYS[1])
    expect((await lane.settle(pool.get(sent[0]?.id as string)))?.stage).toBe('sealed')
    expect((await lane.settle(pool.senders[1]!.list())).items).toHaveLength(10)
    await lane.settle(pool.drain())
  })

  test('sends the transactions that it can pay for, and the rest moves to other keys', async () => {
    // The value is certain to leave the balance; the fee may be lower than its maximum.
    await using pools = await openPools([310n * TRANSFER_WEI, ONE_ETHER])
    await sealed(pools, await queue(pools, 30, {}, 100n * TRANSFER_WEI))
    const own = pools.executed().filter((name) => name.endsWith('@0'))
    expect(pools.executed()).toHaveLength(30)
    expect(own).toHaveLength(3)
    await pools.lane.settle(pools.pool.drain())
  })

  test('its transactions move to several keys, to none more than it can pay', async () => {
    await using pools = await openPools([0n, 6n * TRANSFER_WEI, 6n * TRANSFER_WEI])
    await sealed(pools, await queue(pools, 12, { affinity: wordOf(0, 3) }))
    expect(pools.executed().filter((name) => name.endsWith('@1'))).toHaveLength(6)
    expect(pools.executed().filter((name) => name.endsWith('@2'))).toHaveLength(6)
    expect(pools.events('held').filter(({ reason }) => reason === 'starved')).toHaveLength(1)
  })

  test('its transactions move if no gas was given and the estimate fails for lack of money', async () => {
    await using pools = await openPools([TRANSFER_WEI, ONE_ETHER])
    const { lane, pool } = pools
    const { gas: _, ...request } = transfer(1) as Record<string, unknown>
    const tx = await lane.settle(
      pool.send({ ...request, value: 100n * TRANSFER_WEI } as never, {
        until: 'queued',
        affinity: wordOf(0, 2),
      }),
    )
    await sealed(pools, [tx])
    expect(pools.executed()).toEqual(['1@1'])
  })

  test('tries each key once if the estimate fails for lack of money', async () => {
    const counted = countedWrites()
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], { store: counted.store })
    const { lane, pool } = pools
    lane.script = ({ method }) =>
      method === 'eth_estimateGas' ? refuses('insufficient funds for transfer') : undefined
    const { gas: _, ...request } = transfer(1) as Record<string, unknown>
    const tx = await lane.settle(pool.send(request as never, { until: 'queued' }))
    await lane.settle(pool.ready())
    await lane.blocks(20)
    expect(counted.handed).toBe(2)
    lane.script = undefined
    await sealed(pools, [tx])
  })

  test("with starved: 'fail' only transactions that no key can pay for fail", async () => {
    await using pools = await openPools([0n, ONE_ETHER], { starved: 'fail' })
    const { lane, pool } = pools
    const affinity = wordOf(0, 2)
    const [tx] = await queue(pools, 1, { affinity })
    await sealed(pools, [tx as Tx])
    expect(pools.executed()).toEqual(['0@1'])
    const dear = pool.send({ ...transfer(7), value: 2n * ONE_ETHER } as never, { affinity })
    expect((await lane.rejection(dear)).code).toBe('STARVED')
  })
})

describe('a transaction stays at its key', () => {
  test('if its account was named', async () => {
    await using pools = await openPools([0n, ONE_ETHER])
    const { lane, pool } = pools
    const named = { ...transfer(1), account: KEYS[0] } as never
    const tx = await lane.settle(pool.send(named, { until: 'queued' }))
    await lane.blocks(5)
    expect(tx.stage).toBe('queued')
    pools.give(0, ONE_ETHER)
    await sealed(pools, [tx])
    expect(pools.executed()).toEqual(['1@0'])
  })

  test('if no key can pay for it, and it delays no other transaction', async () => {
    await using pools = await openPools([0n, ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    const giant = { ...transfer(100), value: 5n * ONE_ETHER } as never
    const dear = await lane.settle(pool.send(giant, { until: 'queued', affinity: wordOf(0, 3) }))
    await lane.blocks(3)
    const sent = await queue(pools, 9)
    await sealed(pools, sent)
    expect(dear.stage).toBe('queued')
    expect(pools.executed().every((name) => !name.endsWith('@0'))).toBe(true)
    // A deposit to another key is noticed and is enough.
    pools.give(2, 9n * ONE_ETHER)
    await sealed(pools, [dear])
    expect(pools.executed().at(-1)).toBe('100@2')
  })

  test('if it is part of a sequence', async () => {
    await using pools = await openPools([0n, ONE_ETHER])
    const { lane, pool } = pools
    const requests = [1, 2, 3].map((marker) => ({ ...transfer(marker), account: KEYS[0] }) as never)
    const sent = lane.settle(pool.sendSequence(requests, { until: 'queued' }))
    const members = await sent
    await lane.blocks(3)
    expect(members.map(({ stage }) => stage)).toEqual(['queued', 'queued', 'queued'])
    pools.give(0, ONE_ETHER)
    await sealed(pools, members)
    expect(pools.executed()).toEqual(['1@0', '2@0', '3@0'])
  })
})

describe('requests of callers while a transaction moves to another key, and after', () => {
  test('a cancel, a signal and a deadline end it in any lane', async () => {
    // No key can pay at first, so the transaction may be in either lane.
    await using pools = await openPools([0n, 0n])
    const { lane, pool } = pools
    const signal = new AbortController()
    const affinity = wordOf(0, 2)
    const until = { until: 'queued', affinity } as const
    const expires = { expires: { atMs: lane.clock.wallNow() + 20_000 } }
    const dear = (marker: number) => ({ ...transfer(marker), value: 10n * TRANSFER_WEI }) as TxRequest
    const [cancelled, aborted, expired] = await lane.settle(
      Promise.all([
        pool.send(dear(1), until),
        pool.send(dear(2), { ...until, signal: signal.signal }),
        pool.send(dear(3), { ...until, ...expires }),
      ]),
    )
    await lane.blocks(2)
    // This is enough for one transaction.
    pools.give(1, 12n * TRANSFER_WEI)
    await lane.until(() => pools.executed().length === 1)
    expect(pools.executed()).toEqual(['1@1'])
    expect((await lane.settle(cancelled.cancel())).result).toBe('tooLate')
    signal.abort()
    expect((await lane.rejection(aborted.wait())).code).toBe('ABORTED')
    expect((await lane.rejection(expired.wait())).code).toBe('EXPIRED')
    await lane.settle(pool.drain())
    expect(pools.executed()).toEqual(['1@1'])
  })

  test('a cancel and a signal end it in the turn in which it moves', async () => {
    const slow = slowWrites()
    await using pools = await openPools([0n, ONE_ETHER], { store: slow.store })
    const { lane, pool } = pools
    const signal = new AbortController()
    const affinity = wordOf(0, 2)
    slow.timer = lane.clock.setTimer
    const [one, two] = await lane.settle(
      Promise.all([
        pool.send(transfer(1), { until: 'queued', affinity }),
        pool.send(transfer(2), { until: 'queued', affinity, signal: signal.signal }),
      ]),
    )
    await lane.until(() => slow.handing)
    const cancel = one.cancel()
    signal.abort()
    expect((await lane.settle(cancel)).result).toBe('removed')
    expect((await lane.rejection(two.wait())).code).toBe('ABORTED')
    await lane.settle(pool.drain())
    expect(pools.executed()).toEqual([])
  })

  test('a repeated send of the same id finds it in its new lane', async () => {
    await using pools = await openPools([0n, ONE_ETHER])
    const { lane, pool } = pools
    const options = { id: 'rent', until: 'queued' as const, affinity: wordOf(0, 2) }
    const first = await lane.settle(pool.send(transfer(1), options))
    await sealed(pools, [first])
    const again = await lane.settle(pool.send(transfer(1), options))
    expect(again.id).toBe(first.id)
    expect((await lane.rejection(pool.send(transfer(2), options))).code).toBe('ID_CONFLICT')
    expect(pools.executed()).toEqual(['1@1'])
  })
})

describe('crashes and other processes', () => {
  const durable = () => ({ ...memoryStore({ now: () => 0 }), durable: true })

  test('a write whose answer is lost moves the transaction once', async () => {
    const lost = lostAnswers()
    await using pools = await openPools([0n, ONE_ETHER], { store: lost.store })
    await sealed(pools, await queue(pools, 6))
    expect(lost.count).toBeGreaterThan(0)
    expect(sorted(pools.executed())).toEqual(markers(6).map((marker) => `${marker}@1`))
  })

  test('a transaction that another process added to the lane moves too, and that process follows it', async () => {
    await using pools = await openPools([0n, ONE_ETHER], { store: durable() })
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    const other = pools.another()
    const sent = await lane.settle(
      Promise.all(markers(8).map((marker) => other.send(transfer(marker), { until: 'queued' }))),
    )
    await sealed(pools, sent)
    expect(sorted(pools.executed())).toEqual(markers(8).map((marker) => `${marker}@1`))
    await lane.settle(other.drain())
  })

  /** Three transactions of another process whose pool has only the first key. No key can pay for them yet. */
  async function sentByAnother(pools: Pools) {
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    const other = pools.another(1)
    const sent = await lane.settle(
      Promise.all(markers(3).map((marker) => other.send(transfer(marker), { until: 'queued' }))),
    )
    await lane.blocks(3)
    return { other, sent }
  }

  test('a process whose pool does not have the new key follows it too', async () => {
    await using pools = await openPools([0n, 0n], { store: durable() })
    const { other, sent } = await sentByAnother(pools)
    pools.give(1, ONE_ETHER)
    await sealed(pools, sent)
    expect(sorted(pools.executed())).toEqual(['0@1', '1@1', '2@1'])
    await pools.lane.settle(other.drain())
  })

  test('a process that takes over the lane that the transaction left follows it too', async () => {
    const store = durable()
    await using pools = await openPools([0n, 0n], { store })
    const { lane, pool } = pools
    const { other, sent } = await sentByAnother(pools)
    pools.give(1, ONE_ETHER)
    const held = () => pools.events('accepted').length > 0
    await lane.until(held)
    await lane.settle(pool.senders[0]?.close() ?? Promise.resolve())
    expect((await lane.settle(other.senders[0]?.snapshot() as never)) as object).toMatchObject({ queued: 0 })
    await sealed(pools, sent)
    await lane.settle(other.drain())
    expect(sorted(pools.executed())).toEqual(['0@1', '1@1', '2@1'])
  })

  test('a cancel from the other process reaches it in its new lane', async () => {
    await using pools = await openPools([0n, 0n], { store: durable() })
    const { lane } = pools
    const { other, sent } = await sentByAnother(pools)
    lane.script = onSend((tx) => (tx.from === KEYS[1] && !isNoop(tx) ? swallows(tx) : undefined))
    pools.give(1, ONE_ETHER)
    await lane.until(() => sent.every(({ stage }) => stage === 'accepted'))
    const results = await lane.settle(Promise.all(sent.map((tx) => tx.cancel())))
    expect(results).toEqual(markers(3).map(() => ({ result: 'cancelled' })))
    await lane.settle(other.drain())
    expect(pools.executed()).toEqual([])
  })

  test('a cancel still reaches it after a wait in the other process', async () => {
    await using pools = await openPools([0n, 0n], { store: durable() })
    const { lane } = pools
    const { other, sent } = await sentByAnother(pools)
    lane.script = onSend((tx) => (tx.from === KEYS[1] && !isNoop(tx) ? swallows(tx) : undefined))
    pools.give(1, ONE_ETHER)
    await lane.until(() => sent.every(({ stage }) => stage === 'accepted'))
    const [first] = sent
    expect(await lane.rejection(first?.wait('sealed', { timeoutMs: 10 }) as never)).toMatchObject({
      code: 'WAIT_TIMEOUT',
    })
    expect(await lane.rejection(first?.replace(transfer(9)) as never)).toMatchObject({ code: 'UNSUPPORTED' })
    await lane.settle(Promise.all(sent.map((tx) => tx.cancel())))
    await lane.settle(other.drain())
    expect(pools.executed()).toEqual([])
  })
})

/** An affinity that goes to this key in a pool of `count` keys. */
function wordOf(key: number, count: number): string {
  for (let index = 0; ; index++)
    if (nearestTo(`w${index}`, KEYS.slice(0, count)) === KEYS[key]) return `w${index}`
}

/** A store that passes each write which moves a transaction to another lane through `meet`. */
function storeWith(meet: (write: () => Promise<void>) => Promise<void>): Store {
  const store = memoryStore()
  return {
    ...store,
    write(lease, change) {
      const write = () => store.write(lease, change)
      return hands(lease, change) ? meet(write) : write()
    },
  }
}

/** Writes that move a transaction to another lane take 500 ms. */
function slowWrites() {
  const slow = { handing: false, timer: undefined as Clock['setTimer'] | undefined }
  const store = storeWith(async (write) => {
    slow.handing = true
    await new Promise<void>((resolve) => void slow.timer?.(resolve, 500))
    await write()
  })
  return Object.assign(slow, { store })
}

function countedWrites() {
  const counted = { handed: 0 }
  const store = storeWith((write) => {
    counted.handed++
    return write()
  })
  return Object.assign(counted, { store })
}

/** Writes that move a transaction fail with an unknown result: alternately not executed and executed. */
function lostAnswers() {
  const lost = { count: 0 }
  const store = storeWith(async (write) => {
    if (lost.count >= 4) return write()
    if (lost.count++ % 2 === 1) await write()
    throw new TxlaneError('The connection was cut.', { code: 'STORE', fate: 'inFlight', details: 'unknown' })
  })
  return Object.assign(lost, { store })
}

function hands({ lane }: Lease, { transactions }: LaneWrite): boolean {
  return transactions.some((one) => one.lane.address !== lane.address)
}
