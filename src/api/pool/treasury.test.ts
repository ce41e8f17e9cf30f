import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../store/memory.js'
import type { Sender, Tx } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { onSend, swallows } from '../sender/simLane.fixture.js'
import { checkTreasury } from './payments.js'
import type { SenderPool } from './pool.js'
import { KEYS, ONE_ETHER, openPools, type Pools, transfer } from './poolRelief.fixture.js'

const TREASURY = 2
const POLICY = { key: TREASURY, below: ONE_ETHER / 10n, upTo: ONE_ETHER, everyMs: 2_000 }
const BALANCE = 100n * ONE_ETHER

const durable = (): Store => ({ ...memoryStore({ now: () => 0 }), durable: true })
const open = (balances: readonly [bigint, bigint, bigint], options: object = {}) =>
  openPools(balances, { store: durable(), treasury: POLICY, ...options }, 2)
const send = ({ lane, pool }: Pools, marker: number, over: object = {}, options: object = {}) =>
  lane.settle(pool.send({ ...transfer(marker), ...over } as never, { until: 'queued', ...options }))
const sealed = ({ lane }: Pools, sent: readonly Tx[]) =>
  lane.settle(Promise.all(sent.map((tx) => tx.wait('sealed'))))

describe('a treasury', () => {
  test('pays the keys that have too little up to their target balance, and no others', async () => {
    await using pools = await open([0n, ONE_ETHER / 2n, BALANCE])
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    await lane.blocks(20)
    expect(pools.paid()).toEqual([{ from: TREASURY, to: 0, wei: ONE_ETHER }])
    expect(pool.treasury?.address.toLowerCase()).toBe(KEYS[TREASURY])
    expect(pool.senders.map(({ address }) => address.toLowerCase())).toEqual(KEYS.slice(0, 2))
    await sealed(pools, [await send(pools, 1, { account: KEYS[0] })])
    expect(pools.paid()).toHaveLength(1)
  })

  test('pays again as soon as a key has too little again', async () => {
    await using pools = await open([0n, ONE_ETHER, BALANCE])
    const { lane } = pools
    for (const marker of [1, 2, 3])
      await sealed(pools, [
        await send(pools, marker, { account: KEYS[0], value: (ONE_ETHER * 95n) / 100n }, { starved: 'wait' }),
      ])
    await lane.blocks(20)
    const ids = (await lane.settle((pools.pool.treasury as Sender).list())).items.map(({ id }) => id)
    expect(ids.toReversed()).toEqual([1, 2, 3, 4].map((nth) => `txlane:treasury:${KEYS[0]}:${nth}`))
    const [first, ...others] = pools.paid()
    expect(first).toEqual({ from: TREASURY, to: 0, wei: ONE_ETHER })
    expect(others).toHaveLength(3)
    for (const { wei } of others) expect(wei).toBeGreaterThan((ONE_ETHER * 9n) / 10n)
    for (const { wei } of others) expect(wei).toBeLessThan(ONE_ETHER)
  })

  test('delays the failure of a transaction that a payment can cover, but of no dearer one', async () => {
    await using pools = await open([0n, 0n, BALANCE], { starved: 'fail' })
    const dear = await send(pools, 1, { value: 2n * ONE_ETHER })
    const plain = await send(pools, 2)
    expect((await pools.lane.rejection(dear.wait('sealed'))).code).toBe('STARVED')
    await sealed(pools, [plain])
    expect(pools.executed()).toHaveLength(1)
  })

  test('pays each key once, also if two processes check and take turns', async () => {
    const asked: string[] = []
    const inner = durable()
    const store: Store = {
      ...inner,
      enqueue(transactions) {
        asked.push(...transactions.map(({ id }) => id))
        return inner.enqueue(transactions)
      },
    }
    await using pools = await open([0n, 0n, BALANCE], { store })
    const { lane, pool } = pools
    const other = pools.another(2)
    await lane.settle(Promise.all([pool.ready(), other.ready()]))
    await lane.blocks(10)
    expect(pools.paid().map(({ to }) => to)).toEqual([0, 1])
    expect(asked, 'the other process leaves it to the first').toHaveLength(2)
    // The owner of the treasury's lane closes. The next owner must know the earlier payments.
    await lane.settle((pool.treasury as Sender).close())
    await lane.blocks(20)
    expect(pools.paid()).toHaveLength(2)
    pools.give(0, -ONE_ETHER)
    await lane.blocks(20)
    expect(pools.paid().map(({ to }) => to)).toEqual([0, 1, 0])
    await lane.settle(other.close())
  })

  test('makes no second payment while one is in flight, also if another process takes over', async () => {
    await using pools = await open([0n, ONE_ETHER, BALANCE])
    const { lane, pool } = pools
    lane.script = onSend((tx) => (tx.from === KEYS[TREASURY] ? swallows(tx) : undefined))
    await lane.settle(pool.ready())
    const isSent = () => pool.treasury?.inFlight().length === 1
    await lane.until(isSent)
    await lane.clock.advance(20_000)
    const other: SenderPool = pools.another(2)
    await lane.settle(Promise.all([other.ready(), (pool.treasury as Sender).close()]))
    await lane.clock.advance(20_000)
    expect((await lane.settle(other.treasury!.list())).items).toHaveLength(1)
    lane.script = undefined
    await lane.until(() => pools.paid().length > 0)
    await lane.blocks(20)
    expect(pools.paid()).toEqual([{ from: TREASURY, to: 0, wei: ONE_ETHER }])
    await lane.settle(other.close())
  })

  test('reports that it has no money, and pays once it has some', async () => {
    await using pools = await open([0n, ONE_ETHER, 0n])
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    await lane.blocks(10)
    expect(pools.paid()).toEqual([])
    expect(pool.treasury?.health().reasons.map((one) => one.for === 'hold' && one.hold)).toContain('starved')
    pools.give(TREASURY, BALANCE)
    await lane.until(() => pools.paid().length > 0)
  })
})

describe('a key that is retired', () => {
  test('sends the rest of its money to sweepTo, and keeps little', async () => {
    await using pools = await open([ONE_ETHER, ONE_ETHER, BALANCE])
    const { lane, pool } = pools
    const [sender] = pool.senders as [Sender]
    const sent = [await send(pools, 1, { account: KEYS[0] })]
    await lane.settle(pool.retire(sender.address, { sweepTo: (pool.treasury as Sender).address }))
    await sealed(pools, sent)
    const [swept, ...more] = pools.paid()
    expect(swept).toMatchObject({ from: 0, to: TREASURY })
    expect(swept?.wei).toBeGreaterThan((ONE_ETHER * 99n) / 100n)
    expect(more).toEqual([])
    await lane.blocks(10)
    expect(pools.paid(), 'a retired account gets no payment').toHaveLength(1)
  })

  test('sends nothing without money, and nothing without sweepTo', async () => {
    await using pools = await open([0n, ONE_ETHER, BALANCE])
    const { lane, pool } = pools
    const [first, second] = KEYS
    await lane.settle(pool.retire(first as `0x${string}`, { sweepTo: KEYS[TREASURY] as `0x${string}` }))
    pool.add(pools.account(0))
    await lane.settle(pool.retire(second as `0x${string}`))
    expect(pools.paid().filter(({ to }) => to === TREASURY)).toEqual([])
    const bad = pool.retire(first as `0x${string}`, { sweepTo: 'bank' as never })
    expect(await lane.rejection(bad)).toMatchObject({ code: 'INVALID', message: /sweepTo/ })
  })
})

describe('invalid options of a treasury', () => {
  const account = { address: KEYS[TREASURY], type: 'local', signTransaction: async () => '0x' } as never
  const good = { account, below: 1n, upTo: 2n }
  test.each([
    ['nothing', null, /treasury/],
    ['no account', { ...good, account: undefined }, /treasury\.account/],
    [
      'an account of the pool',
      { ...good, account: { ...(account as object), address: KEYS[0] } },
      /treasury\.account/,
    ],
    ['a number', { ...good, below: 1 }, /treasury\.below/],
    ['nothing to pay', { ...good, below: 0n }, /treasury\.below/],
    ['less than too little', { ...good, upTo: 0n }, /treasury\.upTo/],
    ['below above upTo', { ...good, below: 3n }, /treasury\.upTo/],
    ['no time', { ...good, everyMs: 0 }, /treasury\.everyMs/],
    ['another name', { ...good, min: 1n }, /min/],
  ])('%s', (_, treasury, said) => {
    expect(() => checkTreasury(treasury, [{ address: KEYS[0] } as never])).toThrow(
      expect.objectContaining({ code: 'INVALID', message: expect.stringMatching(said) as string }),
    )
  })

  test('accepts valid options', () => {
    expect(() => checkTreasury({ ...good, everyMs: 100 }, [{ address: KEYS[0] } as never])).not.toThrow()
    expect(() => checkTreasury(undefined, [])).not.toThrow()
  })
})
