import type { Used } from '../../src/ledger/slot.js'
import { transition } from '../../src/ledger/transition.js'
import {
  after,
  believing,
  keepingAttempts,
  lenient,
  type Mutation,
  queued,
  rebound,
  replacing,
  settled,
} from './broken.js'
import { correcting, lying } from './mutationsCorrecting.js'

const verdicts: readonly Mutation[] = [
  {
    name: 'the verdict is given before lossDepth, on the first evidence',
    scope: 'commands',
    breaks: 'P4',
    machine: after('evidence', settled),
  },
  {
    name: 'the verdict is given before lossDepth, on the first sealed block',
    scope: 'commands',
    breaks: 'P4',
    machine: after('sealed', settled),
  },
  {
    name: 'a transaction is rebound on a null receipt or a bare count',
    scope: 'outside',
    breaks: 'P4',
    machine: after('passed', (slot, _, taken) => rebound(slot, taken)),
  },
  {
    name: 'a transaction is rebound on a pre-confirmed foreign transaction',
    scope: 'commands',
    breaks: 'P4',
    machine: after('preconfirmed', (slot, _, taken) => rebound(slot, taken)),
  },
  {
    name: 'a transaction is rebound on "nonce too low" for a resend',
    scope: 'commands',
    breaks: 'P4',
    machine: after('outcome', (slot, event, taken) =>
      event.type === 'outcome' && event.outcome === 'nonceTooLow' ? rebound(slot, taken) : taken,
    ),
  },
  {
    name: 'a timeout releases the nonce',
    scope: 'commands',
    breaks: 'P2',
    machine: (nonce, slot, event) =>
      event.type === 'outcome' && event.outcome === 'unknown'
        ? transition(nonce, slot, { ...event, outcome: 'intrinsic' })
        : transition(nonce, slot, event),
  },
  {
    name: 'a transaction is rebound after a no-op of ours',
    scope: 'facts',
    breaks: 'P4',
    machine: after('lossDepth', (_, __, taken) =>
      taken.row === 30 ? replacing(taken, (action) => queued(action, (as) => as === 'voided')) : taken,
    ),
  },
  {
    name: 'a replaced transaction is queued again',
    scope: 'commands',
    breaks: 'P4',
    machine: after('lossDepth', (_, __, taken) =>
      taken.row === 31 ? replacing(taken, (action) => queued(action, (as) => as === 'superseded')) : taken,
    ),
  },
  {
    name: 'a cancelled transaction is queued again',
    scope: 'commands',
    breaks: 'P4',
    machine: after('lossDepth', (_, __, taken) =>
      taken.row === 31 ? replacing(taken, (action) => queued(action, (as) => as === 'cancelled')) : taken,
    ),
  },
  {
    name: 'a replacement that came too late is queued again',
    scope: 'commands',
    breaks: 'P4',
    machine: after('lossDepth', (_, __, taken) =>
      replacing(taken, (action) => queued(action, (as) => as === 'tooLate')),
    ),
  },
  {
    name: 'the word of an operator on one claim settles the others',
    scope: 'outside',
    breaks: 'P4',
    machine: after('resolve', (slot, event, taken) => {
      if (slot.state !== 'used' || event.type !== 'resolve' || event.fate === 'executed') return taken
      const by: Used['by'] = { kind: 'other', hash: undefined }
      return slot.by.kind === 'unproven'
        ? transition(slot.nonce, { ...slot, by }, { type: 'lossDepth' })
        : taken
    }),
  },
]

const forgetting: readonly Mutation[] = [
  {
    name: 'the attempts of a freed nonce are forgotten',
    scope: 'refusals',
    breaks: 'P2',
    machine: after('outcome', (_, __, taken) =>
      taken.row === 14 ? { ...taken, slot: { state: 'hole', nonce: taken.slot.nonce, attempts: [] } } : taken,
    ),
  },
  {
    name: 'bytes that are committed after their nonce was used are forgotten',
    scope: 'freed',
    breaks: 'P2',
    machine: after('journaled', (slot, _, taken) =>
      slot.state === 'used' ? { ...taken, slot: { ...slot, committing: 0 } } : taken,
    ),
  },
  {
    name: 'a slot is pruned before it is final',
    scope: 'commands',
    breaks: 'P1',
    machine: after('horizon', (slot) => ({
      row: 33,
      slot: { state: 'final', nonce: slot.nonce, attempts: [] },
      actions: [],
    })),
  },
  {
    name: 'a block that left is not noticed',
    scope: 'deeper',
    breaks: 'end',
    machine: after('left', (slot) => ({ row: 0, slot, actions: [] })),
  },
  {
    name: 'the requested end is forgotten in a reorg',
    scope: 'commands',
    breaks: 'P8',
    machine: after('left', (slot, _, taken) =>
      taken.slot.state === 'live' && taken.slot.claims.length > 0 && slot.attempts.length > 0
        ? { ...taken, slot: { ...taken.slot, end: undefined } }
        : taken,
    ),
  },
  {
    name: 'a claim without attempts is lost when the block that used its nonce leaves',
    scope: 'lost',
    breaks: 'P1',
    machine: after('left', (slot, _, taken) =>
      slot.attempts.length === 0 && slot.state === 'used' && slot.committing === 0
        ? {
            ...taken,
            slot: { state: 'outside', nonce: slot.nonce, attempts: [], origin: 'seeded' },
            actions: [],
          }
        : taken,
    ),
  },
  {
    name: 'a gap is left alone',
    scope: 'refusals',
    breaks: 'P3',
    machine: after('gapTimer', (slot) => ({ row: 0, slot, actions: [] })),
  },
]

const freeing: readonly Mutation[] = [
  {
    name: 'an intrinsic refusal frees a nonce with two attempts',
    scope: 'refusals',
    breaks: 'P2',
    machine: keepingAttempts(
      lenient((slot, event) => ({
        ...slot,
        attempts: slot.attempts.filter((attempt) => event.type === 'outcome' && attempt.hash === event.hash),
      })),
    ),
  },
  {
    name: 'an intrinsic refusal frees bytes that were sent before',
    scope: 'refusals',
    breaks: 'P2',
    machine: lenient((slot) => ({
      ...slot,
      attempts: slot.attempts.map((attempt) => ({ ...attempt, sends: 1 })),
    })),
  },
  {
    name: 'an intrinsic refusal frees bytes that another epoch journaled',
    scope: 'inherited',
    breaks: 'P2',
    machine: lenient((slot) => ({
      ...slot,
      attempts: slot.attempts.map((attempt) => ({ ...attempt, epoch: 1 })),
    })),
  },
  {
    name: 'an intrinsic refusal frees a nonce with a commit under way',
    scope: 'freed',
    breaks: 'P2',
    machine: lenient((slot) => ({ ...slot, committing: 0 })),
  },
  {
    name: 'bytes with a stale token are accepted',
    scope: 'tokens',
    breaks: 'P5',
    machine: (nonce, slot, event) =>
      event.type === 'committing' && slot?.state === 'reserved'
        ? { row: 4, slot: { ...slot, committing: slot.committing + 1 }, actions: [] }
        : transition(nonce, slot, event),
  },
  {
    name: 'a reservation is withdrawn while its bytes are being committed',
    scope: 'signers',
    breaks: 'P2',
    machine: believing('withdraw', (slot) => (slot.state === 'reserved' ? { ...slot, committing: 0 } : slot)),
  },
  {
    name: 'a nonce used by others frees its claim while its bytes are being committed',
    scope: 'holders',
    breaks: 'P2',
    machine: believing('evidence', (slot) => (slot.state === 'reserved' ? { ...slot, committing: 0 } : slot)),
  },
]

const contradictory: readonly Mutation[] = [
  {
    name: 'repeated evidence opens a verdict again',
    scope: 'beyond',
    breaks: 'P1',
    machine: after('evidence', (slot, event, taken) =>
      slot.state === 'used' && slot.settled && event.type === 'evidence'
        ? { row: 27, slot: { ...slot, settled: false }, actions: [] }
        : taken,
    ),
  },
  {
    name: 'a block that was never seen takes a verdict back',
    scope: 'beyond',
    breaks: 'P4',
    machine: (nonce, slot, event) => {
      const at = slot?.state === 'used' && slot.settled ? slot.at : undefined
      return event.type === 'left' && at !== undefined
        ? transition(nonce, slot, { ...event, block: at })
        : transition(nonce, slot, event)
    },
  },
  {
    name: 'a repeated verdict is given twice',
    scope: 'deeper',
    breaks: 'P8',
    machine: believing('lossDepth', (slot) => (slot.state === 'used' ? { ...slot, settled: false } : slot)),
  },
  {
    name: 'outside bytes that are committed late are assumed not to be the observed ones',
    scope: 'handed',
    breaks: 'P5',
    machine: after('outsideCommitted', (slot, event, taken) =>
      slot.state === 'used' && event.type === 'outsideCommitted' && taken.row === 9
        ? {
            row: 0,
            slot: {
              ...slot,
              attempts: [event.attempt, ...slot.attempts],
              claims: [event.attempt.claim ?? ''],
            },
            actions: [],
          }
        : taken,
    ),
  },
]

const beyond: readonly Mutation[] = [
  {
    name: 'a deep reorg is not noticed',
    scope: 'beyond',
    breaks: 'P4',
    machine: after('left', (slot, _, taken) => (taken.row === 32 ? { row: 0, slot, actions: [] } : taken)),
  },
  {
    name: 'a deep reorg forgets the attempts of its nonces',
    scope: 'beyond',
    breaks: 'P2',
    machine: after('left', (_, __, taken) =>
      taken.row === 32 ? { ...taken, slot: { ...taken.slot, attempts: [] } } : taken,
    ),
  },
  {
    name: 'after a deep reorg the newest bytes are resent, regardless of their claim',
    scope: 'beyond',
    breaks: 'P1',
    machine: after('left', (slot, _, taken) =>
      taken.row === 32
        ? replacing(taken, (action) => {
            const newest = slot.attempts[slot.attempts.length - 1]
            return action.do === 'noop' && newest ? { do: 'resend', hash: newest.hash } : action
          })
        : taken,
    ),
  },
]

const ending: readonly Mutation[] = [
  {
    name: 'a cancelled claim is bumped',
    scope: 'tokens',
    breaks: 'row 21',
    machine: after('stuck', (slot, _, taken) =>
      slot.state === 'live' && slot.end === 'cancel'
        ? { ...taken, actions: [{ do: 'bump', token: slot.token, replacementRejections: 0 }] }
        : taken,
    ),
  },
  {
    name: 'a transaction is replaced after its end was requested',
    scope: 'commands',
    breaks: 'P8',
    machine: (nonce, slot, event) => {
      if (event.type !== 'replace' || slot?.state !== 'live') return transition(nonce, slot, event)
      const taken = transition(nonce, { ...slot, end: undefined }, event)
      return taken.slot.state === 'live' ? { ...taken, slot: { ...taken.slot, end: slot.end } } : taken
    },
  },
  {
    name: 'a displaced nonce is voided',
    scope: 'facts',
    breaks: 'row 17',
    machine: believing('stuck', (slot) => (slot.state === 'live' ? { ...slot, displaced: false } : slot)),
  },
  {
    name: 'a reorg resends the newest bytes, regardless of their claim',
    scope: 'freed',
    breaks: 'P5',
    machine: after('left', (slot, _, taken) =>
      replacing(taken, (action) =>
        action.do === 'noop'
          ? { do: 'resend', hash: slot.attempts[slot.attempts.length - 1]?.hash ?? '0x' }
          : action,
      ),
    ),
  },
  {
    name: 'a timeout resends bytes of a transaction that has ended',
    scope: 'freed',
    breaks: 'P5',
    machine: after('outcome', (_, event, taken) =>
      event.type === 'outcome' && event.outcome === 'unknown' && taken.slot.state === 'live'
        ? { ...taken, actions: [{ do: 'resend', hash: event.hash }] }
        : taken,
    ),
  },
  {
    name: 'a replacement that could not be signed is queued at another nonce',
    scope: 'signers',
    breaks: 'P1',
    machine: after('withdraw', (slot, event, taken) => {
      if (slot.state !== 'live' || event.type !== 'withdraw' || event.why !== 'again') return taken
      if (slot.end !== undefined || slot.claims.indexOf(event.claim) < 1) return taken
      if (slot.attempts.some((attempt) => attempt.claim === event.claim)) return taken
      const claims = slot.claims.filter((claim) => claim !== event.claim)
      return { row: 6, slot: { ...slot, claims }, actions: [{ do: 'queueAgain', claim: event.claim }] }
    }),
  },
]

export const MUTATIONS: readonly Mutation[] = [
  ...correcting,
  ...lying,
  ...verdicts,
  ...forgetting,
  ...freeing,
  ...contradictory,
  ...ending,
  ...beyond,
]
