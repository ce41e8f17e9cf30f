import { expect, test } from 'vitest'
import { reasonOf } from '../../../src/lane/reasons/sentence.js'
import { transactionIn } from '../../../src/store/contract/samples.js'
import type { WaitCause } from '../../../src/types/index.js'
import type { StoredTransaction } from '../../../src/types/store.js'
import { needsPerson, reasonsIn, storedText } from './storedReasons.js'

const lane = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'a'.repeat(40)}` } as const

function stored(id: string, sequence: number, more: Partial<StoredTransaction> = {}): StoredTransaction {
  return { ...transactionIn(lane, id), sequence, ...more }
}
const waits = (cause: WaitCause) => ({ waiting: reasonOf(cause, 0) })
const jump = { jump: 'latest counts 900, and the lane knows 20; resume() believes it' }

test('lists stored reasons by nonce, then in call order, and counts the other transactions', () => {
  const reasons = reasonsIn('x.db', [
    stored('c', 3, waits({ for: 'estimate', endpoint: 'n', tries: 3, said: 'busy' })),
    stored('b', 2, waits({ for: 'funds', neededWei: 5n, balanceWei: 1n })),
    stored('a', 1, { stage: 'signed', nonce: 7, ...waits({ for: 'endpoint', endpoint: 'n', said: 'full' }) }),
    stored('d', 4),
  ])
  expect(reasons.transactions.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  expect(reasons).toMatchObject({
    count: 4,
    waiting: { head: { id: 'a' }, by: { endpoint: 1, funds: 1, estimate: 1, order: 1 } },
  })
  expect(needsPerson(reasons)).toBe(true)
  expect(storedText(reasons)).toContain(
    '  b (queued): It waits for money: it may cost 5 wei, and the account has 1 wei. Since 1970',
  )
})

test('counts the reason of the first transaction first, in any order of the store', () => {
  const funds = waits({ for: 'funds', neededWei: 5n, balanceWei: 1n })
  const hold = waits({ for: 'hold', holds: ['jump'], details: jump })
  const all = [stored('d', 4), stored('c', 3, hold), stored('b', 2, hold), stored('a', 1, funds)]
  for (const order of [all, all.toReversed()])
    expect(storedText(reasonsIn('x.db', order))).toContain('4 in x.db wait for: funds 1, hold 2, order 1\n')
})

test('shows a hold with its cause and its remedy', () => {
  const reasons = reasonsIn('x.db', [
    stored('a', 1, waits({ for: 'hold', holds: ['jump', 'authorizing'], details: jump })),
  ])
  expect(reasons.holds).toEqual([
    { reason: 'jump', detail: jump.jump },
    { reason: 'authorizing', detail: undefined },
  ])
  expect(storedText(reasons)).toContain(`Held: jump. ${jump.jump}\nHeld: authorizing\n`)
  expect(needsPerson(reasons)).toBe(false)
})

test('an unresolved transaction waits for an operator even without a stored reason', () => {
  const reasons = reasonsIn('x.db', [stored('a', 1, { stage: 'accepted', nonce: 3, verdict: 'unresolved' })])
  expect(reasons.transactions).toMatchObject([{ id: 'a', waitingFor: { for: 'evidence', operator: true } }])
  expect(needsPerson(reasons)).toBe(true)
})

test('omits a reason of an earlier stage', () => {
  const reasons = reasonsIn('x.db', [
    stored('a', 1, { stage: 'accepted', nonce: 3, ...waits({ for: 'funds' }) }),
  ])
  expect(reasons.transactions).toEqual([])
  expect(storedText(reasons)).toContain('a: It waits for the next block.')
})

test('reports a store without waiting transactions', () => {
  expect(storedText(reasonsIn('x.db', []))).toBe('\nNo transaction waits in x.db.\n')
})
