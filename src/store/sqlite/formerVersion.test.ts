import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isTimely } from '../../lane/reasons/waitCause.js'
import { attemptsOf } from '../../lane/transaction/attempts.js'
import { recordOf } from '../../lane/transaction/record.js'
import { fromStored, toStored } from '../../lane/transaction/stored.js'
import type { StoredTransaction } from '../../types/store.js'
import { decodeTransaction, encodeBody } from '../codec.js'
import { sqliteStore } from './index.js'
import { loadDriver } from './open.js'

const lane = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'a'.repeat(40)}` } as const

/** As written before transactions had the fields for their order and their reason. */
const FORMER = `{"v":1,"transaction":{"id":"former","lane":{"chainId":1,"genesisHash":"${lane.genesisHash}","address":"${lane.address}"},"fingerprint":"0x${'2'.repeat(64)}","request":{"to":"0x${'b'.repeat(40)}"},"sequence":1,"priority":0,"onExpiry":"leave","stage":"queued","createdAtMs":1}}`

test('a file of the former version is read, and stores reasons from then on', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'txlane-')), 'lane.db')
  const first = sqliteStore({ path })
  await first.enqueue([decodeTransaction(FORMER)])
  await first.close()
  const Driver = await loadDriver()
  const database = new Driver(path)
  database.prepare('UPDATE tx SET body = ?').run(FORMER)
  database.close()

  const store = sqliteStore({ path })
  const found = (await store.find(lane, { id: 'former' })) as StoredTransaction
  expect(found).toMatchObject({ id: 'former', stage: 'queued' })
  expect(found.order).toBeUndefined()
  expect(found.waiting).toBeUndefined()
  expect([found.updatedAtMs, found.attempts, found.group]).toEqual([undefined, undefined, undefined])
  const lease = await store.acquire(lane, 'holder', 10_000)
  if (lease === undefined) throw new Error('the lane is free')
  await store.load(lease)
  const waiting = {
    for: 'funds',
    neededWei: 10n ** 20n,
    balanceWei: 0n,
    sinceMs: 5,
    sentence: 'It waits for money.',
    operator: true,
  } as const
  await store.write(lease, { slots: [], transactions: [{ ...found, order: 'strict', waiting }], cursor: 0 })
  expect(await store.find(lane, { id: 'former' })).toEqual({ ...found, order: 'strict', waiting })
  await store.close()
})

test("an attempt stored by a former version has the record's newest hash", () => {
  const hash = `0x${'c'.repeat(64)}` as const
  const former = {
    ...decodeTransaction(FORMER),
    stage: 'accepted',
    nonce: 3,
    hash,
    fees: { gasPrice: 9n },
  } as const
  const transaction = fromStored(former)
  expect(attemptsOf(transaction.record)).toEqual([{ nonce: 3, hash, fees: { gasPrice: 9n } }])
  expect(recordOf(transaction, undefined)).not.toHaveProperty('updatedAt')
  expect(attemptsOf(fromStored(toStored(transaction)).record)).toEqual(attemptsOf(transaction.record))
})

test('a body with a reason is read back unchanged', () => {
  const former = decodeTransaction(FORMER)
  const waiting = {
    for: 'estimate',
    endpoint: 'https://node.example',
    tries: 3,
    said: 'a page titled "502"',
    sinceMs: 5,
    sentence: 'x',
    operator: false,
  } as const
  expect(decodeTransaction(encodeBody({ ...former, order: 'strict', waiting }))).toEqual({
    ...former,
    order: 'strict',
    waiting,
  })
  expect(isTimely(waiting, { stage: 'queued', nonce: undefined })).toBe(true)
  expect(isTimely(waiting, { stage: 'accepted', nonce: 1 })).toBe(false)
})
