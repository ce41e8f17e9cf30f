import { type Hex, pad } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Program } from '../../../test/sim/program.js'
import { programRequest } from '../../../test/sim/program.js'
import {
  openLane,
  type SimLane,
  type SimLaneOptions,
  swallow,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { TxRequest } from '../../types/index.js'

const CONTRACT = programRequest({ kind: 'call', marker: 1 }).to as Hex
const ONE: Hex = `0x${'0'.repeat(63)}1`

/** A view function of the contract that returns that slot. */
const GETTER: Hex = '0x35567e1a'

const withGas = (program: Program) => ({ ...programRequest(program), gas: 100_000n }) as TxRequest
const call = (marker: number) => withGas({ kind: 'call', marker })
const needing = (marker: number, needs: number) => withGas({ kind: 'dependent', marker, needs })
/** The effect of `call(marker)`. */
const effectOf = (marker: number) => ({
  address: CONTRACT,
  slot: `0x${marker.toString(16)}` as Hex,
  value: ONE,
})

const NOTHING: RpcReply = { ok: true, result: null }

/** A lane with an endpoint that was observed to pre-confirm. */
async function openWarm(options: SimLaneOptions = {}): Promise<SimLane> {
  const lane = await openLane(options)
  await lane.settle((await lane.settle(lane.sender.send(transfer(90)))).wait())
  return lane
}

const sealedNow = ({ chain }: SimLane) => chain.head.number

test('a transaction is rejected as reverting after the transaction that it may depend on gave its nonce back', async () => {
  let signing = true
  await using lane = await openLane({ signMs: () => (signing ? 10_000 : 0) })
  const abort = new AbortController()
  const first = lane.sender.send(call(1), { signal: abort.signal })
  const second = lane.sender.send(programRequest({ kind: 'dependent', marker: 2, needs: 1 }) as TxRequest)
  const refused = lane.rejection(second, 120_000)
  await lane.clock.advance(5_000)
  signing = false
  abort.abort()
  expect(await lane.rejection(first)).toMatchObject({ code: 'ABORTED', fate: 'notExecuted' })
  expect(await refused).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
})

describe('after: at pre-confirmed speed', () => {
  test('a dependent transaction is sent before the block of the first is sealed, and executes after it', async () => {
    await using lane = await openWarm()
    await lane.blocks(1)
    const before = sealedNow(lane)
    const first = await lane.settle(lane.sender.send(call(1)))
    const second = await lane.settle(lane.sender.send(needing(2, 1), { after: [first] }))
    await lane.settle(second.wait('preconfirmed'))
    expect(sealedNow(lane)).toBe(before)
    expect(await lane.settle(second.wait())).toMatchObject({ status: 'success' })
    expect(lane.executed()).toEqual([90, 1, 2])
  })

  test('a chain of dependent transactions, all sent at once, executes in order', async () => {
    await using lane = await openWarm()
    const ids = ['a', 'b', 'c', 'd']
    const sent = ids.map((id, index) =>
      lane.sender.send(index === 0 ? call(1) : needing(index + 1, index), {
        id,
        ...(index === 0 ? {} : { after: [ids[index - 1] as string] }),
      }),
    )
    const txs = await lane.settle(Promise.all(sent))
    const landed = await lane.settle(Promise.all(txs.map((tx) => tx.wait())))
    expect(landed.map(({ status }) => status)).toEqual(['success', 'success', 'success', 'success'])
  })

  test.each(['cancel', 'replace'] as const)(
    'a predecessor that a %s displaced does not count as pre-confirmed',
    async (how) => {
      await using lane = await openWarm()
      const first = await lane.settle(lane.sender.send(call(1)))
      const options = { after: [first], afterStatus: 'any', until: 'queued' } as const
      const second = await lane.settle(lane.sender.send(transfer(2), options))
      const changed = how === 'cancel' ? first.cancel() : first.replace(transfer(3))
      expect(await lane.rejection(second.wait())).toMatchObject({ code: 'DEPENDENCY', fate: 'notExecuted' })
      await lane.settle<unknown>(changed)
      await lane.blocks(2)
      expect(lane.executed()).not.toContain(2)
    },
  )

  test('a waiting transaction has no nonce: others overtake it, and it counts as queued', async () => {
    await using lane = await openWarm({ limits: { queueMax: 2 } })
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(call(1)))
    const second = await lane.settle(lane.sender.send(needing(2, 1), { after: [first], until: 'queued' }))
    const third = await lane.settle(lane.sender.send(transfer(3)))
    expect(second.nonce).toBeUndefined()
    expect(third.nonce).toBe(2)
    expect((await lane.snapshot()).queued).toBe(1)
    await lane.settle(lane.sender.send(transfer(4), { after: [first], until: 'queued' }))
    const full = await lane.rejection(lane.sender.send(transfer(5)))
    expect(full).toMatchObject({ code: 'QUEUE_FULL', fate: 'notExecuted' })
    lane.script = undefined
    await lane.settle(second.wait())
  })

  test('a waiting transaction can be cancelled, be aborted or expire, and nothing is sent', async () => {
    await using lane = await openWarm()
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(call(1)))
    const cancelled = await lane.settle(lane.sender.send(transfer(2), { after: [first], until: 'queued' }))
    const controller = new AbortController()
    const expires = { atMs: lane.clock.wallNow() + 500 }
    const aborted = lane.rejection(
      lane.sender.send(transfer(3), { after: [first], signal: controller.signal }),
    )
    const expired = lane.rejection(lane.sender.send(transfer(4), { after: [first], expires }))
    await lane.clock.advance(100)
    controller.abort()
    expect(await lane.settle(cancelled.cancel())).toEqual({ result: 'removed' })
    expect(await aborted).toMatchObject({ code: 'ABORTED', fate: 'notExecuted' })
    expect(await expired).toMatchObject({ code: 'EXPIRED', fate: 'notExecuted' })
    lane.script = undefined
    await lane.settle(first.wait())
    await lane.blocks(2)
    expect(lane.executed()).toEqual([90, 1])
  })

  test('an estimate on a replica that lags behind the predecessor is repeated', async () => {
    await using lane = await openWarm()
    const first = await lane.settle(lane.sender.send(call(1)))
    lane.script = ({ method }) =>
      method === 'eth_estimateGas'
        ? { ok: false, failure: { kind: 'rpc', code: 3, message: 'execution reverted' } }
        : undefined
    const second = lane.sender.send(programRequest({ kind: 'dependent', marker: 2, needs: 1 }) as TxRequest, {
      after: [first],
    })
    await lane.clock.advance(1_000)
    lane.script = undefined
    expect(await lane.settle((await lane.settle(second)).wait())).toMatchObject({ status: 'success' })
  })
})

describe('after: a predecessor that does not succeed', () => {
  test('a cancelled predecessor ends the whole chain of transactions that wait for it', async () => {
    await using lane = await openWarm()
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(call(1), { id: 'a' }))
    const second = lane.rejection(lane.sender.send(transfer(2), { id: 'b', after: ['a'] }))
    const third = lane.rejection(lane.sender.send(transfer(3), { after: ['b'] }))
    await lane.settle(first.cancel())
    for (const error of [await second, await third])
      expect(error).toMatchObject({ code: 'DEPENDENCY', fate: 'notExecuted' })
    expect(lane.executed()).toEqual([90, 'noop'])
  })

  test('one failed predecessor of several is enough, while the others are still in flight', async () => {
    await using lane = await openWarm()
    lane.script = swallow(1)
    const slow = await lane.settle(lane.sender.send(call(1)))
    const reverts = await lane.settle(lane.sender.send(withGas({ kind: 'revert', marker: 2 })))
    const error = lane.rejection(lane.sender.send(transfer(3), { after: [slow, reverts] }))
    lane.script = undefined
    expect(await error).toMatchObject({ code: 'DEPENDENCY', fate: 'notExecuted' })
    await lane.settle(slow.wait())
    expect(lane.executed()).toEqual([90, 1, 2])
  })

  test('a replacement does not count as the predecessor that it replaced', async () => {
    await using lane = await openWarm()
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(call(1)))
    const second = lane.rejection(lane.sender.send(transfer(2), { after: [first] }))
    const other = await lane.settle(first.replace(call(3)))
    await lane.settle(other.wait())
    expect(await second).toMatchObject({ code: 'DEPENDENCY', fate: 'notExecuted' })
  })

  test('a predecessor that reverted earlier ends it at once, but not with afterStatus: any', async () => {
    await using lane = await openWarm()
    const first = await lane.settle(lane.sender.send(withGas({ kind: 'revert', marker: 1 }), { id: 'r' }))
    await lane.settle(first.wait('finalized'), 4_000_000)
    await lane.blocks(2)
    const error = await lane.rejection(lane.sender.send(transfer(2), { after: ['r'] }))
    expect(error).toMatchObject({ code: 'DEPENDENCY', fate: 'notExecuted' })
    await lane.settle(lane.sender.send(transfer(3), { after: ['r'], afterStatus: 'any' }))
  })
})

describe('after: an impossible predecessor is rejected at once, and nothing is sent', () => {
  test.each([
    ['itself', { id: 'x', after: ['x'] }],
    ['an unknown id, so that there can be no cycle', { id: 'x', after: ['y'] }],
  ])('%s', async (_, options) => {
    await using lane = await openWarm()
    const error = await lane.rejection(lane.sender.send(transfer(1), options))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(error.message).toContain('options.after[0]')
    expect(await lane.settle(lane.sender.get('x'))).toBeUndefined()
  })

  test('two simultaneous sends that name each other', async () => {
    await using lane = await openWarm()
    const both = [
      lane.rejection(lane.sender.send(transfer(1), { id: 'x', after: ['y'] })),
      lane.rejection(lane.sender.send(transfer(2), { id: 'y', after: ['x'] })),
    ]
    expect((await Promise.all(both)).map(({ code }) => code)).toEqual(['INVALID', 'INVALID'])
  })

  test('the transaction that it replaces, and a transaction of another chain', async () => {
    await using lane = await openWarm()
    await using other = await openLane({ chain: { chainId: 7 } as never })
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(call(1)))
    const far = await other.settle(other.sender.send(transfer(2)))
    expect(await lane.rejection(first.replace(call(3), { after: [first] }))).toMatchObject({
      code: 'INVALID',
    })
    const crossed = await lane.rejection(lane.sender.send(transfer(4), { after: [far] }))
    expect(crossed).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    await lane.settle(first.cancel())
  })

  test('a known id gets its old transaction, although the records of its predecessor are gone', async () => {
    await using lane = await openWarm()
    await lane.settle((await lane.settle(lane.sender.send(transfer(1), { id: 'x' }))).wait())
    const again = await lane.settle(lane.sender.send(transfer(1), { id: 'x', after: ['gone'] }))
    expect(again.id).toBe('x')
  })
})

describe('the predecessor declares deploys and effect', () => {
  /** The endpoint hides the pending block, but not the pre-confirmed state. */
  const hidePending = (lane: SimLane) => {
    lane.script = ({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === 'pending' ? NOTHING : undefined
  }

  test('a dependent transaction starts on the effect if the pending block does not show the hash', async () => {
    await using lane = await openWarm()
    await lane.blocks(1)
    hidePending(lane)
    const before = sealedNow(lane)
    const first = await lane.settle(lane.sender.send(call(1), { effect: effectOf(1) }))
    const second = await lane.settle(lane.sender.send(needing(2, 1), { after: [first] }))
    expect(sealedNow(lane)).toBe(before)
    expect(first.stage).toBe('accepted')
    expect(await lane.settle(second.wait())).toMatchObject({ status: 'success' })
    expect(lane.executed()).toEqual([90, 1, 2])
  })

  test('an effect is seen through its getter where an override hides the pending state, as Base’s flashblocks RPC does', async () => {
    await using lane = await openWarm()
    await lane.blocks(1)
    const before = sealedNow(lane)
    const isShown = () => (lane.chain.view().pending?.executed.length ?? 0) > 0
    lane.script = ({ method, params }) => {
      if (method === 'eth_getBlockByNumber' && params[0] === 'pending') return NOTHING
      if (method === 'eth_getStorageAt' && params[2] === 'pending') return { ok: true, result: pad('0x00') }
      if (method !== 'eth_call') return undefined
      const [{ data }, , override] = params as [{ data?: string }, unknown, unknown]
      if (data === GETTER) return { ok: true, result: isShown() ? ONE : pad('0x00') }
      if (override === undefined) return undefined
      return { ok: true, result: `${pad('0x74786c616e65')}${pad('0x00').slice(2)}` }
    }
    const effect = { ...effectOf(1), getter: GETTER }
    const first = await lane.settle(lane.sender.send(call(1), { effect }))
    const second = await lane.settle(lane.sender.send(needing(2, 1), { after: [first] }))
    expect(sealedNow(lane)).toBe(before)
    expect(await lane.settle(second.wait())).toMatchObject({ status: 'success' })
  })

  test('an effect is seen through eth_call where a plain read at pending answers as for latest', async () => {
    await using lane = await openWarm()
    await lane.blocks(1)
    const before = sealedNow(lane)
    const isShown = () => (lane.chain.view().pending?.executed.length ?? 0) > 0
    lane.script = ({ method, params }) => {
      if (method === 'eth_getBlockByNumber' && params[0] === 'pending') return NOTHING
      if (method === 'eth_getStorageAt' && params[2] === 'pending') return { ok: true, result: pad('0x00') }
      if (method !== 'eth_call' || params[2] === undefined) return undefined
      return { ok: true, result: `${pad('0x74786c616e65')}${(isShown() ? ONE : pad('0x00')).slice(2)}` }
    }
    const first = await lane.settle(lane.sender.send(call(1), { effect: effectOf(1) }))
    const second = await lane.settle(lane.sender.send(needing(2, 1), { after: [first] }))
    expect(sealedNow(lane)).toBe(before)
    expect(await lane.snapshot()).toMatchObject({ endpoints: [{ profile: { pendingState: false } }] })
    expect(await lane.settle(second.wait())).toMatchObject({ status: 'success' })
  })

  test('the effect settles the wait but not the slot: only blocks change the stage of the predecessor', async () => {
    await using lane = await openWarm()
    await lane.blocks(1)
    hidePending(lane)
    const first = await lane.settle(lane.sender.send(call(1), { effect: effectOf(1) }))
    await lane.settle(lane.sender.send(needing(2, 1), { after: [first] }))
    expect(lane.events('preconfirmed').filter(({ tx }) => tx === first)).toEqual([])
  })

  test('an effect that was present before proves nothing: the wait ends with the block', async () => {
    await using lane = await openWarm()
    await lane.settle((await lane.settle(lane.sender.send(call(1)))).wait())
    await lane.blocks(1)
    const stuck = swallow(5)
    lane.script = stuck
    const first = await lane.settle(lane.sender.send(call(5), { effect: effectOf(1) }))
    const second = lane.sender.send(transfer(2), { after: [first] })
    await lane.clock.advance(1_000)
    expect(lane.sent.filter(({ nonce }) => nonce === 3)).toEqual([])
    lane.script = undefined
    await lane.settle((await lane.settle(second)).wait())
    expect(lane.executed()).toEqual([90, 1, 5, 2])
  })

  test('without dependents the effect is read only once, before the send', async () => {
    await using lane = await openWarm()
    const tx = await lane.settle(lane.sender.send(call(1), { effect: effectOf(1) }))
    await lane.settle(tx.wait())
    const isOfEffect = ({ method, params }: RpcCall) =>
      method === 'eth_getStorageAt' && params[0] === CONTRACT
    const reads = lane.requests.filter((calls) => calls.some(isOfEffect))
    expect(reads).toHaveLength(1)
  })
})
