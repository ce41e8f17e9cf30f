import { describe, expect, test } from 'vitest'
import { createSenderIn } from '../../api/sender/sender.js'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'
import type { Store } from '../../types/store.js'

describe('one id in simultaneous calls', () => {
  test('P8: all callers of an id are rejected with STORE if the store refuses it', async () => {
    const store = memoryStore()
    let answers = () => {}
    const refusing: Store = {
      ...store,
      enqueue: () => new Promise((_, reject) => (answers = () => reject(new Error('disk full')))),
    }
    await using lane = await openLane({ store: refusing })
    const both = [1, 2].map(() => lane.rejection(lane.sender.send(transfer(1), { id: 'a' })))
    await lane.clock.advance(10)
    const found = await lane.settle(lane.sender.get('a'))
    const waiting = lane.rejection(found?.wait() ?? Promise.reject())
    await lane.clock.advance(10)
    answers()
    const reported = { code: 'STORE', fate: 'notExecuted' }
    expect(await Promise.all([...both, waiting])).toMatchObject([reported, reported, reported])
  })

  test('P8: a store that throws has not stored the transaction, and is called again for the next one', async () => {
    const store = memoryStore()
    let broken = true
    const throwing: Store = {
      ...store,
      enqueue(transactions) {
        if (broken) throw new Error('not open')
        return store.enqueue(transactions)
      },
    }
    await using lane = await openLane({ store: throwing })
    const refused = await lane.rejection(lane.sender.send(transfer(1)))
    expect(refused).toMatchObject({ code: 'STORE', fate: 'notExecuted' })
    broken = false
    await lane.settle((await lane.settle(lane.sender.send(transfer(2)))).wait())
    expect(lane.executed()).toEqual([2])
  })

  test('P8: after a refusal by the store, an id from an earlier process is not reported as notExecuted', async () => {
    const store = memoryStore()
    await using lane = await openLane({ store })
    await lane.settle((await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))).wait('finalized'))
    await lane.settle(lane.sender.close())
    const full: Store = { ...store, enqueue: () => Promise.reject(new Error('disk full')) }
    const next = createSenderIn(
      { ...lane.environment, shared: createShared() },
      { ...lane.parameters, store: full },
    )
    const refused = (id?: string) => lane.rejection(next.send(transfer(1), id === undefined ? {} : { id }))
    expect(await refused('a')).toMatchObject({ code: 'STORE', fate: 'inFlight' })
    expect(await refused('b')).toMatchObject({ code: 'STORE', fate: 'notExecuted' })
    expect(await refused()).toMatchObject({ code: 'STORE', fate: 'notExecuted' })
    let finds = 0
    full.find = () => Promise.reject(new Error(`disk gone, ${++finds}`))
    for (const error of await Promise.all(['b', 'c', 'd'].map(refused)))
      expect(error).toMatchObject({ code: 'STORE', fate: 'inFlight' })
    expect(await refused('e')).toMatchObject({ code: 'STORE', fate: 'inFlight' })
    expect(finds).toBe(1)
    await lane.settle(next.close())
  })

  test('P5: cancelling an id from an earlier process, before the store has answered, is too late', async () => {
    const store = memoryStore()
    await using lane = await openLane({ store })
    await lane.settle((await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))).wait('finalized'))
    await lane.settle(lane.sender.close())
    const slow: Store = {
      ...store,
      async enqueue(transactions) {
        await new Promise<void>((resolve) => void lane.clock.setTimer(resolve, 50))
        return store.enqueue(transactions)
      },
    }
    const next = createSenderIn(
      { ...lane.environment, shared: createShared() },
      { ...lane.parameters, store: slow },
    )
    await lane.settle(next.ready())
    const again = next.send(transfer(1), { id: 'a' })
    await lane.clock.advance(10)
    const found = await lane.settle(next.get('a'))
    const asked = [found?.cancel(), found?.replace(transfer(2), { id: 'b' }).catch(({ code }) => code)]
    expect(await lane.settle(Promise.all(asked))).toMatchObject([{ result: 'tooLate' }, 'TOO_LATE'])
    expect(await lane.settle(again)).toMatchObject({ id: 'a', stage: 'finalized' })
    await lane.settle(next.close())
    expect(lane.executed()).toEqual([1])
  })

  test('P5: if the store may have stored it, its fate is inFlight, and a second send sends it', async () => {
    const store = memoryStore()
    let lost = 1
    const losing: Store = {
      ...store,
      async enqueue(transaction) {
        const known = await store.enqueue(transaction)
        if (lost-- > 0) throw Object.assign(new Error('connection lost'), { details: 'unknown' })
        return known
      },
    }
    await using lane = await openLane({ store: losing })
    const sending = lane.rejection(lane.sender.send(transfer(1), { id: 'a' }))
    const cancelling = lane.sender.get('a').then((found) => found?.cancel())
    for (const error of [await sending, await lane.rejection(cancelling)])
      expect(error).toMatchObject({ code: 'STORE', fate: 'inFlight' })
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual([1])
  })

  test('P5: an aborted send with the id of a known transaction is rejected with the fate of that transaction', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    const again = () =>
      lane.rejection(lane.sender.send(transfer(1), { id: 'a', signal: AbortSignal.abort() }))
    expect(await again()).toMatchObject({ code: 'ABORTED', fate: 'inFlight', tx: { id: 'a', nonce: 0 } })
    await lane.settle(tx.wait())
    expect(await again()).toMatchObject({ code: 'ABORTED', fate: 'executed' })
  })

  test('waits and cancels are answered for an id that has been final for long', async () => {
    await using lane = await openLane()
    const first = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    await lane.settle(first.wait('finalized'))
    await lane.blocks(1)
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    expect(await lane.settle(tx.wait())).toMatchObject({ hash: first.hash })
    expect(await lane.settle(tx.cancel())).toMatchObject({ result: 'tooLate', landed: { hash: first.hash } })
    expect(lane.sent).toHaveLength(1)
  })
})

describe('P2: one id stands for one content', () => {
  const [to, other] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`] as const
  const slot = (last: string) => `0x${'0'.repeat(63)}${last}` as const
  const plain = { to, data: '0x01', value: 1n, gas: 60_000n } as const
  const listed = { ...plain, accessList: [{ address: other, storageKeys: [slot('1')] }] }

  test.each<[string, object]>([
    ['no access list', plain],
    ['an empty access list', { ...plain, accessList: [] }],
    [
      'another address in the access list',
      { ...plain, accessList: [{ address: to, storageKeys: [slot('1')] }] },
    ],
    ['another storage key', { ...plain, accessList: [{ address: other, storageKeys: [slot('2')] }] }],
    [
      'one storage key more',
      { ...plain, accessList: [{ address: other, storageKeys: [slot('1'), slot('2')] }] },
    ],
    ['another target', { ...listed, to: other }],
    ['other data', { ...listed, data: '0x02' }],
    ['another value', { ...listed, value: 2n }],
  ])('the same id with %s is ID_CONFLICT', async (_, differing) => {
    await using lane = await openLane()
    lane.sender.pause()
    await lane.settle(lane.sender.send(listed as never, { id: 'a', until: 'queued' }))
    const again = lane.sender.send(differing as never, { id: 'a', until: 'queued' })
    expect(await lane.rejection(again)).toMatchObject({ code: 'ID_CONFLICT' })
    // The price is not part of the content.
    const same = { ...listed, gas: 70_000n, maxFeePerGas: 10n ** 12n }
    expect((await lane.settle(lane.sender.send(same as never, { id: 'a', until: 'queued' }))).id).toBe('a')
  })
})

describe('an id that stands for another request', () => {
  const ROOMY = { ...transfer(1), gas: 60_000n }
  const TO = ROOMY.to

  test.each([
    ['value', { ...ROOMY, value: 7n }, 'value is 7 here, and '],
    ['to', { ...ROOMY, to: `0x${'77'.repeat(20)}` }, `to is 0x${'77'.repeat(20)} here, and ${TO} there`],
    ['data', { ...ROOMY, data: '0x1234' }, 'data is 0x1234 here, and 0x there'],
    [
      'access list',
      { ...ROOMY, accessList: [{ address: TO, storageKeys: [] }] },
      'accessList is [{"address":',
    ],
  ] as const)('another %s: the error names the field and has the transaction', async (_, request, words) => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    const error = await lane.rejection(lane.sender.send(request as ReturnType<typeof transfer>, { id: 'a' }))
    expect(error).toMatchObject({
      code: 'ID_CONFLICT',
      fate: 'notExecuted',
      tx: { id: 'a', hash: tx.hash },
      shortMessage: expect.stringContaining(words),
    })
  })

  test('a generated id stands for its request too, in this process and in the next one', async () => {
    const store = memoryStore()
    await using lane = await openLane({ store })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect((await lane.settle(lane.sender.send(transfer(1), { id: tx.id }))).id).toBe(tx.id)
    await lane.settle(tx.wait())
    await lane.settle(lane.sender.close())
    const next = createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
    expect((await lane.settle(next.send(transfer(1), { id: tx.id }))).hash).toBe(tx.hash)
    const error = await lane.rejection(next.send(transfer(2), { id: tx.id }))
    expect(error).toMatchObject({ code: 'ID_CONFLICT', fate: 'notExecuted' })
    await lane.settle(next.close())
    expect(lane.executed()).toEqual([1])
  })
})
