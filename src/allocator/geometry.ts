import { type CounterOptions, createCounter, type NonceBook } from './counter.js'
import {
  type CounterReading,
  createCounterReads,
  type NonceReads,
  type NonceReadsOptions,
} from './counterReads.js'

/**
 * The knowledge of a lane about the place that numbers payloads: how to read it, and how to interpret a reading. A
 * counter is a sequence: a number that is not used blocks all higher ones, and they are used in order. Expiring
 * nonces are a set: each stands alone, a hash protects it from replay, and it ends at its deadline. Lease, records,
 * recovery and waits are the same for both.
 */
export type NonceGeometry<reading> = {
  createBook(options: CounterOptions): NonceBook<reading>
  createReads(options: NonceReadsOptions, book: NonceBook<reading>): NonceReads<reading>
}

/** A counter in the storage of a contract. */
export const SEQUENCE: NonceGeometry<CounterReading> = {
  createBook: createCounter,
  createReads: createCounterReads,
}
