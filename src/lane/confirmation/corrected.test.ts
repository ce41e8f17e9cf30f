import type { Hash } from 'viem'
import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/sim/port/answer.js'
import { quantity, wireBlock } from '../../../test/sim/port/wire.js'
import {
  ACCOUNT,
  nameOf,
  openLane,
  type SimLane,
  type SimLaneOptions,
  swallow,
  swallows,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { Tx } from '../../types/index.js'

const STRANGER: Hash = `0x${'fe'.repeat(32)}`

/** The block number that a call asks for; undefined for a call without a block, or for the pending block. */
function numberIn({ chain }: SimLane, { method, params }: RpcCall): number | undefined {
  const selector = method === 'eth_getTransactionCount' ? params[1] : params[0]
  if (selector === 'latest') return chain.head.number
  const hash = (selector as { blockHash?: Hash })?.blockHash ?? selector
  const byHash = chain.canonical.find((block) => block.hash === hash)?.number
  return byHash ?? (Number.isInteger(Number(selector)) ? Number(selector) : undefined)
}

/**
 * The chain with another transaction of the account as nonce 0 in the block of this number. This is a
 * complete and consistent lie, as from an endpoint on a fork of its own.
 */
function otherwise(lane: SimLane, at: number): (call: RpcCall) => RpcReply | undefined {
  const { chain } = lane
  return (call) => {
    const number = numberIn(lane, call)
    if (call.method === 'eth_getTransactionCount')
      return number === undefined || number >= at ? ok('0x1') : undefined
    const block = call.method.startsWith('eth_getBlockBy') && number === at ? chain.canonical[at] : undefined
    if (block === undefined) return undefined
    const isFull = call.params[1] === true
    const real = wireBlock(block, isFull, chain.settings) as { transactions: readonly unknown[] }
    const r = `0x${ACCOUNT.slice(2).padStart(64, '0')}`
    const shown = isFull
      ? { hash: STRANGER, type: '0x2', from: ACCOUNT, nonce: '0x0', r, s: '0x1' }
      : STRANGER
    return ok({ ...real, gasUsed: quantity(21_000), transactions: [...real.transactions, shown] })
  }
}

/**
 * A transaction whose nonce was settled as used by another sender, although its first bytes land three blocks
 * later.
 */
async function misled(
  options: SimLaneOptions,
  during: (lane: SimLane, tx: Tx) => Promise<void>,
  judge: (lane: SimLane, tx: Tx) => Promise<void>,
): Promise<void> {
  await using lane = await openLane(options)
  lane.script = swallow(1)
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  const [first] = lane.sent
  const lie = otherwise(lane, lane.chain.head.number + 1)
  lane.script = (call, sent) => lie(call) ?? swallow(1)(call, sent)
  await during(lane, tx)
  // The second attempt is not accepted yet. Otherwise both would land together, and no no-op could come
  // between.
  lane.script = swallow(1)
  lane.chain.submit(first?.raw ?? '')
  await lane.until(() => lane.events('corrected').length > 0)
  lane.script = undefined
  expect(lane.events('corrected')).toEqual([{ nonce: 0, tx }])
  await judge(lane, tx)
}

const landed = (hash: Hash | undefined) => ({ nonce: 0, hash, status: 'success' })

describe('row 24 after the verdict: the transaction executed at its first nonce after all', () => {
  test('emits sealed for the first nonce, and uses the second nonce up with a no-op', async () => {
    await misled(
      {},
      (lane) => lane.until(() => lane.sent.some(({ nonce }) => nonce === 1)),
      async (lane, tx) => {
        expect(await lane.settle(tx.wait())).toMatchObject(landed(lane.sent[0]?.hash))
        await lane.settle(lane.sender.drain())
        await lane.blocks(3)
        expect(lane.executed()).toEqual([1, 'noop'])
        expect(tx).toMatchObject({ nonce: 0, hash: lane.sent[0]?.hash })
        expect((await lane.snapshot()).holds).toEqual([])
      },
    )
  })

  test('sends nothing and frees the second nonce if it is reserved but not signed', async () => {
    let slow = false
    await misled(
      { signMs: () => (slow ? 60_000 : 0) },
      async (lane) => {
        slow = true
        await lane.until(() => lane.events('foreign').length > 0)
        await lane.blocks(3)
      },
      async (lane, tx) => {
        slow = false
        expect(await lane.settle(tx.wait())).toMatchObject(landed(lane.sent[0]?.hash))
        const next = await lane.settle(lane.sender.send(transfer(2)))
        expect(await lane.settle(next.wait())).toMatchObject({ nonce: 1 })
        await lane.clock.advance(60_000)
        expect(lane.executed()).toEqual([1, 2])
        expect(lane.sent.every((sent) => nameOf(sent) !== 1 || sent.nonce === 0)).toBe(true)
      },
    )
  })

  test('removes the transaction from the queue', async () => {
    await misled(
      {},
      async (lane) => {
        lane.sender.pause()
        await lane.until(() => lane.events('foreign').length > 0)
        await lane.blocks(3)
        expect((await lane.snapshot()).queued).toBe(1)
      },
      async (lane, tx) => {
        expect(await lane.settle(tx.wait())).toMatchObject(landed(lane.sent[0]?.hash))
        expect((await lane.snapshot()).queued).toBe(0)
        lane.sender.resume()
        await lane.settle(lane.sender.drain())
        await lane.blocks(2)
        expect(lane.executed()).toEqual([1])
      },
    )
  })
})

test('rows 24 and 32: after a deep reorg replaces the other use by the transaction, it is not sent at another nonce', async () => {
  await using lane = await openLane()
  lane.script = swallow(1)
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  const [first] = lane.sent
  lane.foreign()
  await lane.until(() => lane.sent.some(({ nonce }) => nonce === 1))
  lane.script = (_, sent) => (sent ? swallows(sent) : undefined)
  lane.chain.reorg({ depth: lane.chain.head.number, drops: () => true })
  lane.chain.submit(first?.raw ?? '')
  lane.chain.seal()
  await lane.until(() => lane.events('corrected').length > 0)
  lane.script = undefined
  expect((await lane.snapshot()).holds).toEqual(['deepReorg'])
  lane.sender.resume()
  expect(await lane.settle(tx.wait())).toMatchObject(landed(first?.hash))
  await lane.settle(lane.sender.drain())
  await lane.blocks(3)
  expect(lane.executed()).toEqual([1, 'noop'])
})

test('row 24 before the verdict: corrects the use, and sends nothing at another nonce', async () => {
  await misled(
    { lossDepth: 12 },
    (lane) => lane.until(() => lane.events('foreign').length > 0),
    async (lane, tx) => {
      expect(await lane.settle(tx.wait())).toMatchObject(landed(lane.sent[0]?.hash))
      await lane.blocks(14)
      expect(lane.executed()).toEqual([1])
      expect(lane.sent.every(({ nonce }) => nonce === 0)).toBe(true)
    },
  )
})

describe('rule W at lossDepth, with the body read a second time', () => {
  test('row 34: reopens the nonce if the second body lacks the witness, and sends nothing at another nonce', async () => {
    await using lane = await openLane({ lossDepth: 3 })
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const at = lane.chain.head.number + 1
    const lie = otherwise(lane, at)
    lane.script = (call, sent) => lie(call) ?? swallow(1)(call, sent)
    await lane.until(() => lane.events('foreign').length > 0)
    lane.script = undefined
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 0, status: 'success' })
    expect(lane.sent.every(({ nonce }) => nonce === 0)).toBe(true)
    expect(lane.executed()).toEqual([1])
  })
})

describe('a transaction that loses its nonces repeatedly', () => {
  /**
   * Another sender uses each nonce at which it is sent; resolves after that has happened this many times.
   */
  async function robbed(lane: SimLane, times: number): Promise<Tx> {
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    for (let time = 1; time <= times; time++) {
      lane.foreign(time)
      await lane.until(() => lane.events('foreign').length === time)
      if (time < times) await lane.until(() => tx.nonce === time && tx.hash !== undefined)
      else await lane.blocks(3)
    }
    return tx
  }

  test('emits no event the first time, and one the second time', async () => {
    await using lane = await openLane()
    const tx = await robbed(lane, 2)
    expect(lane.events('rebound')).toEqual([{ tx, times: 2 }])
    lane.script = undefined
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 2 })
    expect(lane.events('held')).toEqual([])
    expect(lane.executed()).toEqual(['foreign', 'foreign', 1])
  })

  test('holds the lane after more than three times and names the transaction; resume() lets it go on', async () => {
    await using lane = await openLane()
    const tx = await robbed(lane, 4)
    expect(lane.events('rebound').map(({ times }) => times)).toEqual([2, 3, 4])
    const [held] = lane.events('held')
    expect(held).toMatchObject({
      reason: 'rebound',
      detail: expect.stringContaining(`${tx.id} lost 4 nonces`),
    })
    expect((await lane.snapshot()).holds).toEqual(['rebound'])
    lane.script = undefined
    await lane.blocks(4)
    expect(lane.executed()).toEqual(Array(4).fill('foreign'))
    lane.sender.resume()
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 4, status: 'success' })
    expect(lane.executed()).toEqual([...Array(4).fill('foreign'), 1])
  })
})
