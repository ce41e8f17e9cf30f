import { describe, expect, test } from 'vitest'
import { createProfile, type GivenProfile, type ProfileObservation } from './profile.js'

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

describe('the count at `pending`', () => {
  test('is unknown until something was sent', () => {
    expect(seen([block(11, 10), countedInBlock]).pending).toBe('unknown')
  })

  test('is the mempool when two sends in a row were counted at once', () => {
    expect(seen([counted]).pending).toBe('unknown')
    expect(seen([counted, counted]).pending).toBe('mempool')
    expect(seen([counted, uncounted, counted]).pending).toBe('unknown')
  })

  test('is the mempool when of each of two batches all but the last were counted, or of four a part', () => {
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

  test('is the mempool when of four resends in a row each was counted at once, and not when one was not', () => {
    const resent = (count: number): ProfileObservation => ({ kind: 'countAfterResend', nonce: 5, count })
    const [yes, no] = [resent(6), resent(5)]
    expect(seen([yes, yes, yes]).pending).toBe('unknown')
    expect(seen([yes, yes, yes, yes]).pending).toBe('mempool')
    expect(seen([yes, yes, yes, no, yes, yes, yes]).pending).toBe('unknown')
    expect(seen([yes, yes, counted]).pending).toBe('mempool')
    const preconfirmed = [uncounted, lackedLater, countedInBlock]
    expect(seen([...preconfirmed, yes, yes, yes, no]).pending).toBe('preconfirmed')
  })

  test('is the pre-confirmed state still when a flashblock lands while a batch is worked through', () => {
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

  test('is the pre-confirmed state when a send is counted only with the pending block that holds it', () => {
    expect(seen([uncounted]).pending).toBe('unknown')
    expect(seen([uncounted, lackedLater, countedInBlock]).pending).toBe('preconfirmed')
  })

  test('is the pre-confirmed state at the second nonce that no look has lacked after its answer: a pool may be a moment late', () => {
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
    // A chain of one sequencer has no public pool.
    expect(seen([uncounted, countedInBlock], { singleSequencer: true }).pending).toBe('preconfirmed')
  })

  test('is the pre-confirmed state at the second nonce where the count once lacked what the pending block held', () => {
    const lacking: ProfileObservation = { kind: 'countWithBlock', nonce: 5, count: 5 }
    const shown = [uncounted, lackedLater, countedInBlock]
    const ended = [uncounted, lacking, ...shown]
    expect(seen(ended).pending).toBe('unknown')
    expect(seen([...ended, counted, ...shown]).pending).toBe('unknown')
    expect(seen([...ended, ...shown]).pending).toBe('preconfirmed')
    // Backends that lag show it again and again: two more nonces are enough then too.
    const often = Array.from({ length: 50 }, () => lacking)
    expect(seen([...often, ...shown, ...shown]).pending).toBe('unknown')
    expect(seen([...often, ...shown, ...shown, ...shown]).pending).toBe('preconfirmed')
  })

  test('is not concluded from a nonce that another had sent', () => {
    expect(seen([uncounted, lackedLater, { kind: 'countWithBlock', nonce: 9, count: 10 }]).pending).toBe(
      'unknown',
    )
  })

  test('is not concluded from a nonce that was above a gap, as a later count shows', () => {
    const fallen: ProfileObservation = { kind: 'countWithoutBlock', count: 2, askedAtMs: 20 }
    expect(seen([uncounted, lackedLater, fallen, lackedLater, countedInBlock]).pending).toBe('unknown')
  })

  test('is not concluded from an endpoint that lacks what comes before: it lags', () => {
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

  test('goes back to unknown when a mempool that counted leaves out two sends in a row: one may be lost', () => {
    expect(seen([counted, counted, uncounted]).pending).toBe('mempool')
    expect(seen([counted, counted, uncounted, counted, uncounted]).pending).toBe('mempool')
    expect(seen([counted, counted, uncounted, uncounted]).pending).toBe('unknown')
  })

  test('is not pre-confirmed for one count that came before what was sent with it, where the one before it did not', () => {
    const early = [uncounted, lackedLater, countedInBlock]
    expect(seen([counted, ...early]).pending).toBe('unknown')
    expect(seen([counted, counted, ...early]).pending).toBe('mempool')
    expect(seen([counted, counted, uncounted, ...early]).pending).toBe('preconfirmed')
    expect(seen([counted, counted, ...early, counted, counted]).pending).toBe('mempool')
  })

  test('goes back to unknown when a pre-confirming endpoint counts at once, and is a mempool at the second time', () => {
    const preconfirmed = [uncounted, lackedLater, countedInBlock]
    expect(seen([...preconfirmed, counted]).pending).toBe('unknown')
    expect(seen([...preconfirmed, counted, counted]).pending).toBe('mempool')
  })

  test('is `latest` when the pending block is the latest one three times in a row', () => {
    expect(seen([block(10, 10), block(10, 10)]).pending).toBe('unknown')
    expect(seen([block(10, 10), block(10, 10), block(11, 10), block(11, 11)]).pending).toBe('unknown')
    expect(seen([block(10, 10), block(10, 10), block(11, 11)]).pending).toBe('latest')
  })

  test('is a block of its own where a latest one that is too high only has its number', () => {
    const same = block(11, 11, false)
    expect(seen([same, same, same]).pending).toBe('unknown')
  })

  test('stays the mempool through a missed flashblock', () => {
    expect(seen([counted, counted, block(10, 10), block(10, 10), block(10, 10)]).pending).toBe('mempool')
  })

  test('goes back to unknown when a `latest` endpoint shows a pending block of its own', () => {
    const latest = [block(10, 10), block(10, 10), block(10, 10)]
    expect(seen([...latest, block(11, 10)]).pending).toBe('unknown')
    expect(seen([...latest, block(9, 10)]).pending).toBe('latest')
  })

  test('is absent where there is no pending block, until there is one', () => {
    expect(seen([{ kind: 'pendingMissing' }]).pending).toBe('absent')
    expect(seen([{ kind: 'pendingMissing' }, block(11, 10)]).pending).toBe('unknown')
  })
})

describe('a method', () => {
  test('that was refused is not usable, until it is answered', () => {
    const method = 'eth_getBlockReceipts'
    expect(seen([{ kind: 'methodRefused', method, status: 403 }]).blockReceipts).toBe(false)
    expect(
      seen([
        { kind: 'methodRefused', method },
        { kind: 'methodAnswered', method },
      ]).blockReceipts,
    ).toBe(true)
  })

  test('for sending and waiting is learnt by itself', () => {
    const sync = { kind: 'methodRefused', method: 'eth_sendRawTransactionSync', rpcCode: -32601 } as const
    expect(seen([sync])).toMatchObject({ sendSync: false, blockReceipts: undefined })
  })
})

describe('batches', () => {
  test('are halved when refused, down to none', () => {
    const refused = (size: number) => ({ kind: 'batchRefused', size }) as const
    expect(seen([refused(100)]).batch).toEqual({ usable: undefined, sizeMax: 50 })
    expect(seen([refused(100), refused(50), { kind: 'batchAnswered', size: 25 }]).batch).toEqual({
      usable: true,
      sizeMax: 25,
    })
    expect(seen([refused(2)]).batch).toEqual({ usable: false, sizeMax: 1 })
  })

  test('that are answered above the limit raise it', () => {
    expect(
      seen([
        { kind: 'batchRefused', size: 10 },
        { kind: 'batchAnswered', size: 8 },
      ]).batch.sizeMax,
    ).toBe(8)
  })

  test('of one call say nothing of batches', () => {
    expect(seen([{ kind: 'batchAnswered', size: 1 }]).batch.usable).toBeUndefined()
  })
})

describe('gaps', () => {
  const refused = { kind: 'gapRefused', overtook: false } as const

  test('that are refused twice are never tried again; one refusal may come from a backend that lags', () => {
    expect(seen([refused]).gapBudget).toBeUndefined()
    expect(seen([refused, refused])).toMatchObject({ gapBudget: 0, batchInOrder: undefined })
  })

  test('inside a batch whose lower part was taken show that its order is not kept', () => {
    expect(seen([{ ...refused, overtook: true }])).toMatchObject({
      gapBudget: undefined,
      batchInOrder: false,
    })
  })
})

describe('a profile', () => {
  test('never changes what the user gave', () => {
    const given = { pending: 'mempool', blockReceipts: false, batch: { usable: true, sizeMax: 10 } } as const
    const all: ProfileObservation[] = [
      uncounted,
      countedInBlock,
      { kind: 'methodAnswered', method: 'eth_getBlockReceipts' },
      { kind: 'batchRefused', size: 10 },
      { kind: 'cadence', cadenceMs: 200 },
    ]
    expect(seen(all, given)).toMatchObject({ ...given, cadenceMs: 200 })
  })

  test('tells of each change once, and of nothing else, until it is asked not to', () => {
    const profile = createProfile()
    const told: string[] = []
    const stop = profile.onChange(({ before, now }) => told.push(`${before.pending} → ${now.pending}`))
    for (const each of [counted, counted, counted, uncounted, uncounted]) profile.observe(each)
    expect(told).toEqual(['unknown → mempool', 'mempool → unknown'])
    stop()
    profile.observe({ kind: 'pendingMissing' })
    expect(told).toHaveLength(2)
  })
})
