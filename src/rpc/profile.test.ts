import { describe, expect, test } from 'vitest'
import { createProfile, type GivenProfile } from './profile.js'
import type { ProfileObservation } from './profileRules.js'

function seen(observations: readonly ProfileObservation[], given?: GivenProfile) {
  const profile = createProfile(given)
  for (const observation of observations) profile.observe(observation)
  return profile.current()
}

const counted: ProfileObservation = { kind: 'countAfterSend', sentFrom: 3, sentUpTo: 5, count: 6, atMs: 10 }
const uncounted: ProfileObservation = { kind: 'countAfterSend', sentFrom: 3, sentUpTo: 5, count: 3, atMs: 10 }
const lackedLater: ProfileObservation = { kind: 'countWithoutBlock', count: 3, askedAtMs: 10 }
const countedInBlock: ProfileObservation = { kind: 'countWithBlock', nonce: 5, count: 6 }
const block = (
  number: number | null,
  latestNumber: number,
  isLatest = number === latestNumber,
): ProfileObservation => ({ kind: 'pendingBlock', number, latestNumber, isLatest })

describe('the meaning of the count at `pending`', () => {
  test('is unknown until a transaction was sent', () => {
    expect(seen([block(11, 10), countedInBlock]).pending).toBe('unknown')
  })

  test('is the mempool after two consecutive sends that were counted at once', () => {
    expect(seen([counted]).pending).toBe('unknown')
    expect(seen([counted, counted]).pending).toBe('mempool')
    expect(seen([counted, uncounted, counted]).pending).toBe('unknown')
  })

  test('is the mempool after two batches counted except for the last call, or four counted in part', () => {
    const allButOne: ProfileObservation = {
      kind: 'countAfterSend',
      sentFrom: 0,
      sentUpTo: 63,
      count: 63,
      atMs: 10,
    }
    const some: ProfileObservation = {
      kind: 'countAfterSend',
      sentFrom: 0,
      sentUpTo: 99,
      count: 63,
      atMs: 10,
    }
    const inBlock: ProfileObservation = { kind: 'countWithBlock', nonce: 63, count: 64 }
    expect(seen([allButOne, inBlock]).pending).toBe('unknown')
    expect(seen([allButOne, allButOne]).pending).toBe('mempool')
    expect(seen([some, some, some, inBlock]).pending).toBe('unknown')
    expect(seen([some, some, some, some]).pending).toBe('mempool')
    expect(seen([counted, some, some]).pending).toBe('mempool')
  })

  test('is the mempool after four consecutive resends that were counted at once, but not if one was not', () => {
    const resent = (count: number): ProfileObservation => ({ kind: 'countAfterResend', nonce: 5, count })
    const [yes, no] = [resent(6), resent(5)]
    expect(seen([yes, yes, yes]).pending).toBe('unknown')
    expect(seen([yes, yes, yes, yes]).pending).toBe('mempool')
    expect(seen([yes, yes, yes, no, yes, yes, yes]).pending).toBe('unknown')
    expect(seen([yes, yes, counted]).pending).toBe('mempool')
    const preconfirmed = [uncounted, lackedLater, countedInBlock]
    expect(seen([...preconfirmed, yes, yes, yes, no]).pending).toBe('preconfirmed')
  })

  test('remains the pre-confirmed state if a flashblock lands while a batch is processed', () => {
    const part: ProfileObservation = {
      kind: 'countAfterSend',
      sentFrom: 6,
      sentUpTo: 99,
      count: 40,
      atMs: 10,
    }
    expect(seen([uncounted, lackedLater, countedInBlock, part, part, uncounted, part]).pending).toBe(
      'preconfirmed',
    )
  })

  test('is the pre-confirmed state if a send is counted only with the pending block that contains it', () => {
    expect(seen([uncounted]).pending).toBe('unknown')
    expect(seen([uncounted, lackedLater, countedInBlock]).pending).toBe('preconfirmed')
  })

  test('is the pre-confirmed state at the second nonce that no later reading lacked, because a pool may be a moment late', () => {
    const asked = (askedAtMs: number): ProfileObservation => ({
      kind: 'countWithoutBlock',
      count: 3,
      askedAtMs,
    })
    const above: ProfileObservation = { kind: 'countWithoutBlock', count: 6, askedAtMs: 20 }
    for (const look of [[], [asked(9)], [above]]) {
      const one = [uncounted, ...look, countedInBlock]
      expect(seen(one).pending).toBe('unknown')
      expect(seen([...one, counted, ...one]).pending).toBe('unknown')
      expect(seen([...one, ...one]).pending).toBe('preconfirmed')
    }
    expect(seen([uncounted, asked(10), countedInBlock]).pending).toBe('preconfirmed')
    // A chain with a single sequencer has no public pool.
    expect(seen([uncounted, countedInBlock], { singleSequencer: true }).pending).toBe('preconfirmed')
  })

  test('is the pre-confirmed state at the second nonce if the count once lacked a nonce of the pending block', () => {
    const lacking: ProfileObservation = { kind: 'countWithBlock', nonce: 5, count: 5 }
    const shown = [uncounted, lackedLater, countedInBlock]
    const ended = [uncounted, lacking, ...shown]
    expect(seen(ended).pending).toBe('unknown')
    expect(seen([...ended, counted, ...shown]).pending).toBe('unknown')
    expect(seen([...ended, ...shown]).pending).toBe('preconfirmed')
    // Lagging backends show this repeatedly. Two more nonces are enough then too.
    const often = Array.from({ length: 50 }, () => lacking)
    expect(seen([...often, ...shown, ...shown]).pending).toBe('unknown')
    expect(seen([...often, ...shown, ...shown, ...shown]).pending).toBe('preconfirmed')
  })

  test('is the pre-confirmed state with the first block of a burst, whose later requests are not counted either', () => {
    const sent = (sentFrom: number, count: number): ProfileObservation => ({
      kind: 'countAfterSend',
      sentFrom,
      sentUpTo: sentFrom + 15,
      count,
      atMs: 10,
    })
    const burst = [sent(0, 0), sent(16, 0), sent(32, 0), sent(48, 0)]
    const inBlock = (nonce: number): ProfileObservation => ({
      kind: 'countWithBlock',
      nonce,
      count: nonce + 1,
    })
    expect(seen([...burst, inBlock(63)], { singleSequencer: true }).pending).toBe('preconfirmed')
    const lacked: ProfileObservation = { kind: 'countWithoutBlock', count: 0, askedAtMs: 11 }
    expect(seen([...burst, lacked, inBlock(63)]).pending).toBe('preconfirmed')
    // A nonce above those that were sent is another wallet's, and a count of other nonces says nothing of these.
    expect(seen([...burst, inBlock(64)], { singleSequencer: true }).pending).toBe('unknown')
    expect(seen([sent(0, 0), sent(32, 16), inBlock(47)], { singleSequencer: true }).pending).toBe('unknown')
  })

  test('is not concluded from a nonce that another wallet had sent', () => {
    expect(seen([uncounted, lackedLater, { kind: 'countWithBlock', nonce: 9, count: 10 }]).pending).toBe(
      'unknown',
    )
  })

  test('is not concluded from a nonce above a gap, as a later count shows', () => {
    const fallen: ProfileObservation = { kind: 'countWithoutBlock', count: 2, askedAtMs: 20 }
    expect(seen([uncounted, lackedLater, fallen, lackedLater, countedInBlock]).pending).toBe('unknown')
  })

  test('is not concluded from a lagging endpoint, which lacks the preceding nonces', () => {
    const behind: ProfileObservation = {
      kind: 'countAfterSend',
      sentFrom: 4,
      sentUpTo: 5,
      count: 3,
      atMs: 10,
    }
    expect(seen([behind, lackedLater, countedInBlock]).pending).toBe('unknown')
    expect(seen([counted, counted, behind]).pending).toBe('mempool')
    expect(seen([counted, behind, counted]).pending).toBe('mempool')
  })

  test('becomes unknown again if a mempool that counted omits two consecutive sends; a single one may be lost', () => {
    expect(seen([counted, counted, uncounted]).pending).toBe('mempool')
    expect(seen([counted, counted, uncounted, counted, uncounted]).pending).toBe('mempool')
    expect(seen([counted, counted, uncounted, uncounted]).pending).toBe('unknown')
  })

  test('is not pre-confirmed after one count older than the send, if the previous count was not', () => {
    const early = [uncounted, lackedLater, countedInBlock]
    expect(seen([counted, ...early]).pending).toBe('unknown')
    expect(seen([counted, counted, ...early]).pending).toBe('mempool')
    expect(seen([counted, counted, uncounted, ...early]).pending).toBe('preconfirmed')
    expect(seen([counted, counted, ...early, counted, counted]).pending).toBe('mempool')
  })

  test('becomes unknown if a pre-confirming endpoint counts at once, and the mempool the second time', () => {
    const preconfirmed = [uncounted, lackedLater, countedInBlock]
    expect(seen([...preconfirmed, counted]).pending).toBe('unknown')
    expect(seen([...preconfirmed, counted, counted]).pending).toBe('mempool')
  })

  test('is `latest` after three consecutive pending blocks equal to the latest one', () => {
    expect(seen([block(10, 10), block(10, 10)]).pending).toBe('unknown')
    expect(seen([block(10, 10), block(10, 10), block(11, 10), block(11, 11)]).pending).toBe('unknown')
    expect(seen([block(10, 10), block(10, 10), block(11, 11)]).pending).toBe('latest')
  })

  test('is a block of its own if a too high latest block only shares its number', () => {
    const same = block(11, 11, false)
    expect(seen([same, same, same]).pending).toBe('unknown')
  })

  test('remains the mempool through a missed flashblock', () => {
    expect(seen([counted, counted, block(10, 10), block(10, 10), block(10, 10)]).pending).toBe('mempool')
  })

  test('becomes unknown if a `latest` endpoint shows a pending block of its own', () => {
    const latest = [block(10, 10), block(10, 10), block(10, 10)]
    expect(seen([...latest, block(11, 10)]).pending).toBe('unknown')
    expect(seen([...latest, block(9, 10)]).pending).toBe('latest')
  })

  test('is absent without a pending block, until there is one', () => {
    expect(seen([{ kind: 'pendingMissing' }]).pending).toBe('absent')
    expect(seen([{ kind: 'pendingMissing' }, block(11, 10)]).pending).toBe('unknown')
  })
})

describe('a method', () => {
  test('is not usable after a refusal, until it is answered', () => {
    const method = 'eth_getBlockReceipts'
    expect(seen([{ kind: 'methodRefused', method, status: 403 }]).blockReceipts).toBe(false)
    expect(
      seen([
        { kind: 'methodRefused', method },
        { kind: 'methodAnswered', method },
      ]).blockReceipts,
    ).toBe(true)
  })

  test('is learned separately for sending and for waiting', () => {
    const sync = { kind: 'methodRefused', method: 'eth_sendRawTransactionSync', rpcCode: -32601 } as const
    expect(seen([sync])).toMatchObject({ sendSync: false, blockReceipts: undefined })
  })
})

describe('batches', () => {
  test('are halved on refusal, down to single calls', () => {
    const refused = (size: number) => ({ kind: 'batchRefused', size }) as const
    expect(seen([refused(100)]).batch).toEqual({ usable: undefined, sizeMax: 50 })
    expect(seen([refused(100), refused(50), { kind: 'batchAnswered', size: 25 }]).batch).toEqual({
      usable: true,
      sizeMax: 25,
    })
    expect(seen([refused(2)]).batch).toEqual({ usable: false, sizeMax: 1 })
  })

  test('above the limit raise it if they are answered', () => {
    expect(
      seen([
        { kind: 'batchRefused', size: 10 },
        { kind: 'batchAnswered', size: 8 },
      ]).batch.sizeMax,
    ).toBe(8)
  })

  test('of one call prove nothing about batches', () => {
    expect(seen([{ kind: 'batchAnswered', size: 1 }]).batch.usable).toBeUndefined()
  })
})

describe('gaps', () => {
  const refused = { kind: 'gapRefused', overtook: false } as const

  test('are never tried again after two refusals; a single refusal may come from a lagging backend', () => {
    expect(seen([refused]).gapBudget).toBeUndefined()
    expect(seen([refused, refused])).toMatchObject({ gapBudget: 0, batchInOrder: undefined })
  })

  test('inside a batch whose lower part was accepted show that order is not kept', () => {
    expect(seen([{ ...refused, overtook: true }])).toMatchObject({
      gapBudget: undefined,
      batchInOrder: false,
    })
  })
})

describe('a profile', () => {
  test('never changes the fields set by the user', () => {
    const given = { pending: 'mempool', blockReceipts: false, batch: { usable: true, sizeMax: 10 } } as const
    const all: ProfileObservation[] = [
      uncounted,
      countedInBlock,
      { kind: 'methodAnswered', method: 'eth_getBlockReceipts' },
      { kind: 'batchRefused', size: 10 },
      { kind: 'client', version: 'reth/v1' },
    ]
    expect(seen(all, given)).toMatchObject({ ...given, client: 'reth/v1' })
  })

  test('notifies listeners of each change once, and of nothing else, until they are removed', () => {
    const profile = createProfile()
    const reported: string[] = []
    const stop = profile.onChange(({ before, now }) => reported.push(`${before.pending} → ${now.pending}`))
    for (const each of [counted, counted, counted, uncounted, uncounted]) profile.observe(each)
    expect(reported).toEqual(['unknown → mempool', 'mempool → unknown'])
    stop()
    profile.observe({ kind: 'pendingMissing' })
    expect(reported).toHaveLength(2)
  })
})
