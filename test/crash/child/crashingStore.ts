import type { Slot } from '../../../src/ledger/slot.js'
import { hasEnded } from '../../../src/store/ended.js'
import type { LaneWrite, Store } from '../../../src/types/store.js'
import type { Trigger } from './trigger.js'

/** The store, with the crash points around its calls. */
export function createCrashingStore(inner: Store, pass: Trigger): Store {
  const journaled = new Set<string>()
  const settled = new Set<number>()

  function know(slots: readonly Slot[]): void {
    for (const slot of slots) {
      for (const { hash } of slot.attempts) journaled.add(hash)
      if (isSettled(slot)) settled.add(slot.nonce)
    }
  }

  function kindsOf({ slots, transactions }: LaneWrite): readonly ('write' | 'journal' | 'settle')[] {
    const journals = slots.some(({ attempts }) => attempts.some(({ hash }) => !journaled.has(hash)))
    const settles =
      transactions.some(({ stage }) => hasEnded(stage)) ||
      slots.some((slot) => isSettled(slot) && !settled.has(slot.nonce))
    return ['write', ...(journals ? ['journal' as const] : []), ...(settles ? ['settle' as const] : [])]
  }

  return {
    ...inner,
    async acquire(...given) {
      pass('acquire:before')
      const lease = await inner.acquire(...given)
      pass('acquire:after')
      return lease
    },
    async load(lease) {
      pass('load:before')
      const state = await inner.load(lease)
      know(state.slots)
      pass('load:after')
      return state
    },
    async enqueue(transactions) {
      pass('enqueue:before')
      pass('enqueue:during')
      const kept = await inner.enqueue(transactions)
      pass('enqueue:after')
      return kept
    },
    async write(lease, change) {
      const kinds = kindsOf(change)
      for (const kind of kinds) pass(`${kind}:before`)
      pass('write:during')
      await inner.write(lease, change)
      know(change.slots)
      for (const kind of kinds) pass(`${kind}:after`)
    },
    async release(lease) {
      pass('release:before')
      await inner.release(lease)
      pass('release:after')
    },
  }
}

function isSettled(slot: Slot): boolean {
  return slot.state === 'final' || (slot.state === 'used' && slot.settled)
}
