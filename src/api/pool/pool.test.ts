import type { Address } from 'viem'
import { describe, expect, test } from 'vitest'
import { TxlaneError } from '../../errors/base.js'
import { systemClock } from '../../platform/clock.js'
import type { HoldReason, Sender, Tx, TxRequest } from '../../types/index.js'
import { TRANSACTION } from '../../validate/stageOrder.js'
import type { Member } from '../sender/member.js'
import { createPool } from './pool.js'

const ACCOUNTS = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`] as const
const REQUEST = { to: `0x${'51'.repeat(20)}`, value: 1n } as const
const OTHER = { ...REQUEST, value: 2n }

/** A member that exchanges no transactions with other members. */
const ALONE: Pick<
  Member,
  'rebalanceBy' | 'lane' | 'warm' | 'runtime' | 'opened' | 'live' | 'load' | 'counts' | 'list'
> = {
  load: () => 0,
  counts: () => undefined,
  list: async () => ({ items: [] }),
  rebalanceBy: () => {},
  live: () => undefined,
  lane: () => undefined,
  runtime: () => Promise.reject(new Error('Nobody needs it.')),
  warm: () => Promise.reject(new Error('Nobody opens it.')),
  opened: () => true,
}

/** The record of an id in a store that two processes share. */
type Kept = { readonly address: Address; readonly value: bigint | undefined }

/** The pool of one process, which prefers the account `roomiest`. */
function poolOf(kept: Map<string, Kept>, roomiest: Address) {
  const members = ACCOUNTS.map((address): Member => {
    const txOf = (id: string, from: Address) =>
      Object.defineProperty({ id, from }, TRANSACTION, {
        value: () => ({ lane: { address: from } }),
      }) as unknown as Tx
    const tx = (id: string) => txOf(id, address)
    const sender = {
      address,
      async get(id: string) {
        const known = kept.get(id)
        return known && txOf(id, known.address)
      },
    }
    return {
      sender: sender as unknown as Sender,
      clock: systemClock,
      background: systemClock,
      async start(request: TxRequest, { id = 'none' }) {
        const known = kept.get(id) ?? { address, value: request.value }
        kept.set(id, known)
        if (known.address !== address || known.value !== request.value)
          throw new TxlaneError('It stands for another request.', {
            code: 'ID_CONFLICT',
            fate: 'notExecuted',
          })
        return { tx: tx(id), accepted: async () => {} }
      },
      room: () => (address === roomiest ? 2 : 1),
      holds: () => [],
      closed: () => false,
      ...ALONE,
    }
  })
  return createPool(members, { make: none })
}

describe('P1: one id from two processes at once, whose pools would choose different accounts', () => {
  test('is one transaction that both processes have', async () => {
    const kept = new Map<string, Kept>()
    const pools = ACCOUNTS.map((account) => poolOf(kept, account))
    const sent = await Promise.all(pools.map((pool) => pool.send(REQUEST, { id: 'a' })))
    expect(sent).toEqual([
      { id: 'a', from: ACCOUNTS[0] },
      { id: 'a', from: ACCOUNTS[0] },
    ])
    expect(kept.size).toBe(1)
  })

  test('is a conflict for the second process if the requests differ', async () => {
    const kept = new Map<string, Kept>()
    const [one, two] = ACCOUNTS.map((account) => poolOf(kept, account))
    const [, second] = await Promise.allSettled([
      one?.send(REQUEST, { id: 'a' }),
      two?.send(OTHER, { id: 'a' }),
    ])
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'ID_CONFLICT' } })
  })

  test('is a conflict for a process that names the account', async () => {
    const kept = new Map<string, Kept>()
    const [one, two] = ACCOUNTS.map((account) => poolOf(kept, account))
    await one?.send(REQUEST, { id: 'a' })
    const named = { ...REQUEST, account: ACCOUNTS[1] } as unknown as TxRequest
    await expect(two?.send(named, { id: 'a' })).rejects.toMatchObject({ code: 'ID_CONFLICT' })
  })
})

/** These pools must not make a further account. */
const none = (): never => {
  throw new Error('No account was to be added.')
}

/** A member with room for one transaction, which records each of its transactions in `chosen`. */
function memberAt(index: number, chosen: number[]): Member {
  const address = `0x${String(index).padStart(40, '0')}` as Address
  return {
    sender: { address, get: async () => undefined } as unknown as Sender,
    clock: systemClock,
    background: systemClock,
    async start() {
      chosen.push(index)
      return { tx: {} as Tx, accepted: async () => {} }
    },
    room: () => 1,
    holds: () => [],
    closed: () => false,
    ...ALONE,
  }
}

describe('the choice of the account for the next transaction', () => {
  /** A pool of accounts with this room and load. `chosen` lists the choices in order. */
  function poolWith(accounts: readonly { room: number; load: number }[]) {
    const chosen: number[] = []
    const members = accounts.map(
      ({ room, load }, index): Member => ({
        ...memberAt(index, chosen),
        room: () => room,
        load: () => load,
      }),
    )
    return { pool: createPool(members, { make: none }), chosen }
  }

  test('takes idle accounts in turn, however large the window of one account has grown', async () => {
    const { pool, chosen } = poolWith([4_096, 64, 64, 64, 64].map((room) => ({ room, load: 0 })))
    for (let times = 0; times < 10; times++) await pool.send(REQUEST)
    expect([...chosen].sort()).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
  })

  test('takes the account with the lowest load that has room', async () => {
    const { pool, chosen } = poolWith([
      { room: 100, load: 9 },
      { room: 1, load: 3 },
      { room: 0, load: 0 },
    ])
    await pool.send(REQUEST)
    expect(chosen).toEqual([1])
  })

  test('takes the account with the fewest waiting transactions if no account has room', async () => {
    const { pool, chosen } = poolWith([
      { room: -9, load: 70 },
      { room: -2, load: 90 },
    ])
    await pool.send(REQUEST)
    expect(chosen).toEqual([1])
  })
})

describe('affinity', () => {
  /** Chooses among ten accounts with the given holds. */
  function choices(holds: ReadonlyMap<number, readonly HoldReason[]> = new Map()) {
    const taken: number[] = []
    const members = Array.from(
      { length: 10 },
      (_, index): Member => ({
        ...memberAt(index, taken),
        room: () => 10 - index,
        holds: () => holds.get(index) ?? [],
      }),
    )
    const pool = createPool(members, { make: none })
    return async (affinity: string) => {
      await pool.send(REQUEST, { affinity })
      return taken.at(-1) as number
    }
  }
  const words = Array.from({ length: 200 }, (_, index) => `user-${index}`)

  test('the same string goes to the same account in every process, and strings are spread over the accounts', async () => {
    const [one, other] = [choices(), choices()]
    const counts = new Map<number, number>()
    for (const word of words) {
      const choice = await one(word)
      expect(await one(word)).toBe(choice)
      expect(await other(word)).toBe(choice)
      counts.set(choice, (counts.get(choice) ?? 0) + 1)
    }
    expect(counts.size).toBe(10)
    expect(Math.max(...counts.values())).toBeLessThan(50)
  })

  test('other accounts take over the strings of a starved or paused account, and no other strings', async () => {
    for (const reason of ['starved', 'paused'] as const) {
      const [usual, without] = [choices(), choices(new Map([[3, [reason]]]))]
      for (const word of words) {
        const [was, is] = [await usual(word), await without(word)]
        if (was === 3) expect(is).not.toBe(3)
        else expect(is).toBe(was)
      }
    }
  })

  test('a short hold changes no choice', async () => {
    const [usual, held] = [choices(), choices(new Map([[3, ['unknownCommit']]]))]
    for (const word of words) expect(await held(word)).toBe(await usual(word))
  })
})
