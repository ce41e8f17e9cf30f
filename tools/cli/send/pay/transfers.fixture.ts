import type { Transfers } from './transfers.js'

/** Takes each receipt with success as a payment, for tests without tokens. */
export const TRUSTING: Transfers = {
  verdicts: async (rows) => rows.map(() => ({ status: 'paid' })),
  answersFalse: async () => false,
}
