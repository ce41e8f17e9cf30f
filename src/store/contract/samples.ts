import type { Hash } from 'viem'
import type { Attempt, Slot } from '../../ledger/slot.js'
import type { LaneKey, StoredTransaction } from '../../types/store.js'

/** A hash of full length, unique for its lane and name. */
export function hashIn(lane: LaneKey, name: string): Hash {
  const text = Array.from(name, (letter) => letter.charCodeAt(0).toString(16)).join('')
  return `0x${(text + lane.genesisHash.slice(2)).slice(0, 64)}`
}

export function transactionIn(
  lane: LaneKey,
  id: string,
  over: Partial<StoredTransaction> = {},
): StoredTransaction {
  return {
    id,
    lane,
    fingerprint: hashIn(lane, 'f'),
    request: { to: lane.address, value: 1n },
    sequence: 0,
    priority: 0,
    gas: undefined,
    feeCeiling: undefined,
    expiresAtMs: undefined,
    onExpiry: 'leave',
    replaces: undefined,
    needs: undefined,
    stage: 'queued',
    nonce: undefined,
    hash: undefined,
    status: undefined,
    failure: undefined,
    createdAtMs: 1_700_000_000_000,
    ...over,
  }
}

export function attemptIn(lane: LaneKey, claim: string | undefined, name: string): Attempt {
  return {
    hash: hashIn(lane, name),
    raw: `0x02${'ab'.repeat(120)}`,
    fees: { maxFeePerGas: 2n ** 70n + 1n, maxPriorityFeePerGas: 0n },
    gas: 21_000n,
    claim,
    epoch: 3,
    sends: 2,
    accepted: true,
    madeAt: { number: 7, hash: hashIn(lane, `${name}7`) },
  }
}

export function liveIn(lane: LaneKey, nonce: number, claim: string, ...names: readonly string[]): Slot {
  return {
    state: 'live',
    nonce,
    attempts: names.map((name) => attemptIn(lane, claim, name)),
    committing: 0,
    claims: [claim],
    end: undefined,
    token: 5,
    preconfirmed: undefined,
    displaced: false,
    refusals: 0,
    replacementRejections: 0,
    settledBefore: false,
    resentSinceSigned: false,
  }
}

/**
 * Slots of every state and every kind of use, with values that are easily lost: bigints, undefined, no
 * attempt.
 */
export function richSlots(lane: LaneKey): readonly Slot[] {
  const legacy = { ...attemptIn(lane, 'a', 'aa'), fees: { gasPrice: 7n }, accepted: false, sends: 0 }
  const noop = attemptIn(lane, undefined, 'cc')
  const block = { number: 12, hash: hashIn(lane, 'dd') }
  const used = { state: 'used', claims: ['a'], settledBefore: false, settled: false, committing: 0 } as const
  const preconfirmed = { hash: hashIn(lane, 'bb'), blockNumber: 9 }
  const { token, ...live } = liveIn(lane, 2, 'a', 'bb') as Extract<Slot, { state: 'live' }>
  return [
    { state: 'hole', nonce: 0, attempts: [legacy] },
    { state: 'reserved', nonce: 1, attempts: [], committing: 1, claim: 'a', token: 2 ** 40 },
    { ...live, token, claims: ['a', 'b'], end: 'cancel', preconfirmed, displaced: true, refusals: 2 },
    {
      ...live,
      token,
      nonce: 3,
      attempts: [legacy, noop],
      end: 'void',
      replacementRejections: 1,
      settledBefore: true,
    },
    { state: 'outside', nonce: 4, attempts: [], origin: 'handedOut' },
    { state: 'outside', nonce: 5, attempts: [], origin: 'seeded' },
    {
      ...used,
      nonce: 6,
      attempts: [legacy],
      end: undefined,
      by: { kind: 'claim', claim: 'a', hash: undefined },
      at: block,
    },
    { ...used, nonce: 7, attempts: [noop], end: 'cancel', by: { kind: 'noop', hash: noop.hash }, at: block },
    { ...used, nonce: 8, attempts: [], end: undefined, by: { kind: 'other', hash: undefined }, at: block },
    { ...used, nonce: 9, attempts: [], end: undefined, by: { kind: 'unproven' }, at: undefined },
  ]
}

/** Transactions in which together every optional field is set. */
export function richTransactions(lane: LaneKey): readonly StoredTransaction[] {
  const full: Partial<StoredTransaction> = {
    request: {
      to: lane.address,
      data: `0x${'00ff'.repeat(300)}`,
      value: 2n ** 255n,
      gas: 1n,
      maxFeePerGas: 0n,
      maxPriorityFeePerGas: undefined,
      accessList: [{ address: lane.address, storageKeys: [hashIn(lane, 'ee')] }],
    },
    priority: -3,
    gas: 2n ** 64n,
    feeCeiling: 0n,
    expiresAtMs: 1_700_000_000_123,
    onExpiry: 'cancel',
    replaces: 'plain',
    needs: {
      after: ['plain', 'b'],
      afterStage: 'sealed',
      afterStatus: undefined,
      effect: { address: lane.address, slot: '0x01', value: '0x02' },
    },
    stage: 'accepted',
    nonce: 0,
    hash: hashIn(lane, 'ab'),
    attempts: [
      { nonce: 0, hash: hashIn(lane, 'aa'), fees: { gasPrice: 2n ** 65n } },
      {
        nonce: 0,
        hash: hashIn(lane, 'ab'),
        fees: { maxFeePerGas: 9n, maxPriorityFeePerGas: 0n },
        signedAtMs: 7,
      },
    ],
    group: 'a, "b" \\ ä|\u{1f600}',
    status: 'reverted',
    costs: { gasUsed: 21_000n, effectiveGasPrice: 0n, l1Fee: 2n ** 70n, totalFee: 2n ** 70n },
    failure: {
      code: 'REJECTED',
      message: 'It said: "no", with ünicode, \\ and a\nnew line.',
      details: 'reverted',
      data: '0x08c379a0',
    },
    supersededBy: 'plain',
    updatedAtMs: 1_700_000_000_001,
    finishedAtMs: 1_700_000_000_002,
  }
  return [transactionIn(lane, 'plain'), transactionIn(lane, 'full', full)]
}
