import type { Reply } from './network.fixture.js'

/** The copies of each nonce that a run has sent, and their answers. */
export type Copies = {
  /** How often each nonce was sent. */
  readonly sent: readonly number[]
  /** Nonces that must not go to the endpoint for now. */
  readonly away: Set<number>
  leave(request: number, nonces: readonly number[]): void
  /** `has`: whether the delivery still has the nonce. */
  ended(request: number, nonces: readonly number[], reply: Reply, has: (nonce: number) => boolean): void
  acknowledged(to: number): void
  /** Describes the broken rule if no answer of the nonce was lost. */
  wronglyAccepted(nonce: number): string[]
  /** A nonce below this one that the endpoint refused. */
  refusedBelow(nonce: number): number | undefined
  /** The lowest open request with a nonce from `from` on that may still arrive. */
  lowestOpen(from: number): readonly number[] | undefined
}

export function createCopies(transactions: number, sentBefore: number): Copies {
  const sent = new Array<number>(transactions).fill(0).fill(1, 0, sentBefore)
  const newest = new Array<number>(transactions).fill(0)
  const open = new Map<number, readonly number[]>()
  // Nonces of which an older copy was accepted after the newest one had been sent.
  const arrived = new Set<number>()
  // Nonces that the endpoint refused in its newest answer, and has not accepted since. A late refresh may
  // confirm fewer nonces than the refresh before it: nonces that the earlier one confirmed do not count as
  // refused.
  const refused = new Set<number>()
  const away = new Set<number>()
  // Nonces with a request that ended without their answer.
  const unanswered = new Set<number>()
  return {
    sent,
    away,
    leave(request, nonces) {
      for (const nonce of nonces) {
        sent[nonce] = (sent[nonce] ?? 0) + 1
        newest[nonce] = request
        arrived.delete(nonce)
      }
      open.set(request, nonces)
    },
    ended(request, nonces, reply, has) {
      open.delete(request)
      for (const [index, nonce] of nonces.entries()) {
        const answer = reply.end === 'answers' ? reply.answers[index]?.kind : undefined
        if (answer === undefined || answer === 'unanswered') unanswered.add(nonce)
      }
      if (reply.end !== 'answers') return
      for (const [index, nonce] of nonces.entries()) {
        if (reply.answers[index]?.kind === 'taken') {
          refused.delete(nonce)
          arrived.add(nonce)
        } else if (newest[nonce] === request && !arrived.has(nonce) && has(nonce)) refused.add(nonce)
      }
    },
    acknowledged(to) {
      // The count shows that an older copy of it arrived.
      for (const nonce of refused) if (nonce < to) refused.delete(nonce)
    },
    wronglyAccepted: (nonce) =>
      unanswered.has(nonce) ? [] : [`nonce ${nonce} was accepted by a count without a lost answer`],
    refusedBelow: (nonce) => [...refused].find((each) => each < nonce && !away.has(each)),
    lowestOpen(from) {
      const isOpen = (nonce: number, id: number) =>
        nonce >= from && newest[nonce] === id && !arrived.has(nonce)
      const opens = [...open].filter(([id, each]) => each.some((nonce) => isOpen(nonce, id)))
      const [lowest] = opens.map(([, each]) => each).sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0))
      return lowest
    },
  }
}
