import { expect, test } from 'vitest'
import { createVirtualClock } from '../../test/sim/virtualClock.js'
import { TxlaneError } from '../errors/base.js'
import { createBook } from '../ledger/book.js'
import { createTurns } from '../platform/turns.js'
import { attemptIn } from '../store/contract/samples.js'
import { memoryStore } from '../store/memory.js'
import type { LaneWrite, Lease, Store } from '../types/store.js'
import { createJournal } from './journal.js'

const KEY = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'2'.repeat(40)}` } as const
const UNKNOWN = new TxlaneError('The answer was lost.', {
  code: 'STORE',
  fate: 'inFlight',
  details: 'unknown',
})

test('P6: bytes of a failed write are not carried into the next one if they are no longer wanted', async () => {
  const clock = createVirtualClock()
  const inner = memoryStore({ now: clock.now })
  const lease = (await inner.acquire(KEY, 'me', 600_000)) as Lease
  const writes: LaneWrite[] = []
  const store: Store = {
    ...inner,
    async write(of, change) {
      if (writes.push(change) === 1) throw UNKNOWN
      await inner.write(of, change)
    },
  }
  const book = createBook({ floor: 0 })
  let wanted = true
  const journal = createJournal({
    store,
    lease,
    book,
    clock,
    turns: createTurns(clock),
    begin: (nonce, token, claim) =>
      wanted && book.apply(nonce, { type: 'committing', token, claim }).row === 4,
    notCommitted(nonce) {
      book.apply(nonce, { type: 'notCommitted' })
      wanted = false
    },
    changedTransactions: () => [],
    commandsDoneUpTo: () => 0,
    isSeeding: () => false,
    onUnknown() {},
    onKnown() {},
    onError() {},
    onLost() {},
  })
  book.apply(0, { type: 'reserve', claim: 'a', token: 1 })
  const attempt = attemptIn(KEY, 'a', 'a1')
  const results: string[] = []
  journal.commit(0, 1, attempt, (result) => results.push(result))
  await clock.advance(10_000)
  expect(results).toEqual(['stale'])
  expect(writes.map(({ slots }) => slots.map(({ attempts }) => attempts.length))).toEqual([[1], [0]])
  expect((await inner.load(lease)).slots.flatMap(({ attempts }) => attempts)).toEqual([])
  journal.stop()
})
