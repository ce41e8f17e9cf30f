import { expect, test } from 'vitest'
import type { Sender } from '../../../../src/index.js'
import type { Row } from '../file/rows.js'
import { TRUSTING } from '../pay/transfers.fixture.js'
import { readClaims } from './claims.js'
import type { Pin } from './pins.js'

const rows = ['a', 'b', 'c'].map((id, index) => ({ id, line: index + 1 }) as Row)
const pin = (pack: string, ...ids: string[]): Pin => ({ pack, disperse: '0x', rows: ids })

type Known = Readonly<Record<string, string | readonly [stage: string, status: 'success' | 'reverted']>>

/** `follows` has the id of each transaction that is followed, with its rows; `free` the ids to send under. */
async function claimsOf(known: Known, packs: readonly Pin[], retryReverted = false) {
  const sender = {
    async get(id: string) {
      const found = known[id]
      const [stage, status] = typeof found === 'string' ? [found, 'success'] : (found ?? [])
      return stage && { id, stage, wait: async () => ({ status }) }
    },
  } as unknown as Sender
  const claims = await readClaims(
    sender,
    rows,
    { packs, approvals: [], open: [] },
    {
      retryReverted,
      transfers: TRUSTING,
    },
  )
  return {
    follows: claims.followed.map((each) =>
      each.kind === 'alone' ? each.id : `${each.pin.pack}: ${each.rows.map(({ id }) => id).join(' ')}`,
    ),
    free: claims.free.map((row) => {
      const { id, again } = claims.attemptOf(row)
      return again ? `${id} again` : id
    }),
  }
}

test('rows of a pack that is on its way, or was paid, are followed', async () => {
  const packs = [pin('P', 'a', 'b')]
  for (const stage of ['queued', 'signed', 'accepted', 'sealed', 'finalized'])
    expect(await claimsOf({ P: stage }, packs)).toEqual({ follows: ['P: a b'], free: ['c'] })
})

test('rows of a pack that was never made, or never ran, are free', async () => {
  const packs = [pin('P', 'a', 'b'), pin('Q', 'c')]
  expect(await claimsOf({ Q: 'failed' }, packs)).toEqual({ follows: [], free: ['a', 'b', 'c'] })
})

test('a reverted pack frees its rows only on request, and those that were paid since stay paid', async () => {
  const packs = [pin('P', 'a', 'b', 'c'), pin('Q', 'b')]
  const known: Known = { P: ['sealed', 'reverted'], Q: 'sealed' }
  expect(await claimsOf(known, packs)).toEqual({ follows: ['P: a c', 'Q: b'], free: [] })
  expect(await claimsOf(known, packs, true)).toEqual({ follows: ['Q: b'], free: ['a', 'c'] })
})

test('a pack that never ran does not hide an earlier one that reverted', async () => {
  const packs = [pin('P', 'a', 'b', 'c'), pin('Q', 'a', 'b', 'c')]
  const known: Known = { P: ['sealed', 'reverted'], Q: 'failed' }
  expect(await claimsOf(known, packs)).toEqual({ follows: ['P: a b c'], free: [] })
})

test('a row that was sent alone is followed, and never packed while that transaction can run', async () => {
  const packs = [pin('P', 'a', 'b')]
  expect(await claimsOf({ a: 'accepted', b: 'failed', P: 'failed' }, packs)).toEqual({
    follows: ['a'],
    free: ['b again', 'c'],
  })
  expect(await claimsOf({ a: ['sealed', 'reverted'], b: 'cancelled' }, packs, true)).toEqual({
    follows: ['b'],
    free: ['a~2', 'c'],
  })
})

test('a cancelled pack is not made again', async () => {
  expect(await claimsOf({ P: 'cancelled' }, [pin('P', 'a')])).toEqual({ follows: ['P: a'], free: ['b', 'c'] })
})
